// Layers that a quantized file computes differently from its float model, whatever its pairs do: an operator that is
// lost, another attribute or constant, a bias that is lost, another tensor that is read.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/match_layers.h"
#include "analysis/subject.h"
#include "jobs/debug/other_constants.h"
#include "jobs/verify/float_twins.h"
#include "numerics/metrics.h"
#include "plan/simulate_typed.h"
#include "vernier/report/defects.h"

namespace vernier {

struct OtherOperators {
  std::vector<FoundDefect> defects;  // of kind "other-operator"
  std::set<std::string> layers;      // tensors of the file that such a layer makes
  std::set<std::string> behind;      // these, and all that depend on them
};

/// What only a measurement tells.
struct Asked {
  std::function<bool()> outputs_agree;  // of both files without roundings: other layers undo what differs
  /// What is left of the noise of the file's outputs with the values of the float model in the place of what the layer
  /// has. Above 1: the file has others to correct what its roundings do. Nullopt: the file has no such constant.
  std::function<std::optional<double>(const OtherLayer&)> left_with;
  /// As outputs_agree(), with the values of the float model in these constants.
  std::function<bool(const std::vector<const OtherLayer*>&)> agree_with;
};

/// `matches`: with nodes that move values, and outputs that no layer makes (these without a layer). `exact`: for each
/// match the error of its layer on exact inputs, in a file without roundings and with float weights (exact_network.h).
/// A layer that keeps less than 30 dB there computes something else; the nodes of both files between matched tensors
/// are compared to name what: operators, attributes, what they read and in which order, constants, biases. `skipped`:
/// tensors of the file whose values are scaled on purpose, by the constant that a layer reads. Where outputs agree,
/// only operators and attributes are a finding; of several constants, those that outputs disagree without. A layer
/// whose difference is not found is not named. Of a layer that keeps more, constants and numbers in attributes are a
/// finding if they make most of the noise of the outputs.
OtherOperators find_other_operators(const Subject& subject, const SimulatedFile& file, const FloatWeights& weights,
                                    const LayerMatches& matches, const std::vector<std::optional<ErrorStats>>& exact,
                                    const std::set<std::string>& skipped, const Asked& asked);

}  // namespace vernier
