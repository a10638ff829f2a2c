// Constants that a repair changed for the low side alone: a bias that takes back a mean error, weights rounded better
// than to the nearest. The float model keeps its own; a layer that is kept high reads those.
#pragma once

#include <string>

#include "vernier/tensor.h"

namespace vernier {

struct Model;
struct Plan;

/// Values of one initializer, read in the place of the model's own when `layer`, its only reader, runs low.
struct RepairedConstant {
  std::string layer;
  Tensor values;  // float32; plans share them, as each trial copies its plan
  bool operator==(const RepairedConstant& other) const;
};

/// `model` as the layers that `plan` runs low read it. Without such constants a copy, which costs no weights.
/// Errors: Input for a constant that is no initializer of the model, or has another shape there.
Model with_repaired_constants(const Model& model, const Plan& plan);

}  // namespace vernier
