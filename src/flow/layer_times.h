// Time of each layer on ONNX Runtime's own kernels: what keeping it in the high format really costs there.
#pragma once

#include <memory>

#include "flow/costs.h"
#include "model/model.h"

namespace vernier {

class Runtime;

/// Median microseconds a layer, of `high` and of `low` (typed, with Q/DQ): both are run on `sample` with the runtime's
/// profiler. A fused kernel's time belongs to the layer whose name it has. QuantizeLinear and DequantizeLinear nodes
/// give the time of a converted element.
/// Errors: Backend when the runtime gives no profile.
LayerTimes measure_layer_times(const std::shared_ptr<const Runtime>& runtime, const Model& high, const Model& low,
                               const Sample& sample);

}  // namespace vernier
