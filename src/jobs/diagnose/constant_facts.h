// What is known of a constant that a layer reads.
#pragma once

#include <optional>
#include <string>

#include "causes/facts.h"
#include "model/model.h"
#include "plan/plan.h"

namespace vernier {

/// Of the initializer `name`; where the plan rounds it and it is a `weight` of `node`, also what the rounding of each
/// channel costs. Only the name where it is not float32. Cost: a few passes over its values.
/// What `values` means where it is a mask and nothing else: zeros, and values near the lowest float16 or below, as they
/// stand in front of an Add. take_mask() leaves such a tensor alone.
std::optional<Mask> mask_alone(const Distribution& values);

TensorFacts constant_facts(const Model& model, const Plan& plan, const std::string& name, const onnx::NodeProto& node,
                           bool weight);

}  // namespace vernier
