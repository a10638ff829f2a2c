// Sensitivity of one layer on the output: "only this layer low", re-running only what lies behind it from cached
// reference activations. The graph is cut where few tensors are alive; for each segment one session runs from its start
// to the outputs (segment.h), so that N layers need a handful of sessions. Layers that reach no output in common, as
// those of separate heads, share a run.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "analysis/reference.h"
#include "analysis/requirement.h"
#include "analysis/subject.h"
#include "plan/lower_simulated.h"

namespace vernier {

class SwitchedRuns;

struct LayerSensitivity {
  std::string layer;
  /// Over the samples that were run, of the judged outputs that lie behind the layer; the others it cannot change.
  std::map<std::string, OutputStats> outputs;
};

struct SensitivityOptions {
  std::vector<std::size_t> samples;  // a few
  std::size_t segments = 8;          // where the parts of `switched` do not make them
  /// Told of each part of the network as soon as it is measured; may be absent.
  std::function<void(const std::vector<LayerSensitivity>&)> found = {};
};

/// What it cost, in sample-inferences of the whole network (a suffix counts by its share of nodes' work).
struct Sensitivities {
  std::vector<LayerSensitivity> layers;
  double mean_suffix_share = 0;  // mean share of a full inference that was executed for one layer and sample
};

/// Sensitivities of the layers named, each alone in its planned format. Without carried states. `switched`, whose first
/// end is `plan`, takes the place of sessions that are built for this alone; null: there is none.
/// Bits: equal to full runs when optimizations are off.
Sensitivities measure_sensitivities(const Subject& subject, const Plan& plan, const std::vector<std::string>& layers,
                                    const OutputStore& reference, const std::map<std::string, Shape>& shapes,
                                    RoundedWeights& weights, const SensitivityOptions& options,
                                    const SwitchedRuns* switched = nullptr);

}  // namespace vernier
