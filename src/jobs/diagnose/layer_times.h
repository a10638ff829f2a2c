// Time of each layer on ONNX Runtime's own kernels, or on an engine: what keeping it in the high format really costs
// there.
#pragma once

#include <functional>
#include <memory>

#include "jobs/engine/engine_runner.h"
#include "jobs/search/costs.h"
#include "jobs/search/experiment.h"
#include "model/model.h"
#include "plan/plan.h"
#include "vernier/format.h"
#include "vernier/samples.h"

namespace vernier {

class Ranks;
class Runtime;

/// Median microseconds a layer, of `high` and of `low` (typed, with Q/DQ): both are run on `sample` with the runtime's
/// profiler. A fused kernel's time belongs to the layer whose name it has. QuantizeLinear and DequantizeLinear nodes
/// give the time of a converted element.
/// Errors: Backend when the runtime gives no profile.
LayerTimes measure_layer_times(const std::shared_ptr<const Runtime>& runtime, const Model& high, const Model& low,
                               const Sample& sample);

/// The same on an engine, by its own profiler: `high` and `low` as read_typed_file() gives them, each built for
/// `samples` and run on the first. The time of a kernel that computes several layers is shared out evenly; what kernels
/// that compute none take in `low`, beyond those in `high`, is the time of its converted elements.
/// Errors: Backend: the engine refuses a file, or has no profiler; Interrupted.
LayerTimes measure_layer_times(EngineRunner& engine, const Model& high, const Model& low, const SampleSource& samples);

/// Whether ONNX Runtime's CPU provider computes in a format with a scale: in others a layer takes its time in float32.
bool has_kernels_on_cpu(Format format);

/// The times of a ladder's upper rungs, one measurement of `measure` for each height: with every candidate as many
/// rungs up, as far as `runs` says that there are kernels. `times` has the lowest rungs, and those without kernels get
/// the times of the high format there, too.
void add_rungs(LayerTimes& times, const Experiment& experiment, const std::function<bool(Format)>& runs,
               const std::function<LayerTimes::OfLayers(const Plan&)>& measure);

/// What `measure` gives on the first rank, on every rank; the others wait, and leave it the machine.
LayerTimes times_of_first(Ranks& ranks, const std::function<LayerTimes()>& measure);

}  // namespace vernier
