// What is known of a constant that a layer reads, and what sums of products with it come to in integer kernels: whether
// they leave the accumulator, and what the bias does there.
#pragma once

#include <optional>
#include <string>

#include "causes/facts.h"
#include "model/model.h"
#include "plan/plan.h"

namespace vernier {

/// What `values` means where it is a mask and nothing else: zeros, and values near the lowest float16 or below, as they
/// stand in front of an Add. take_mask() leaves such a tensor alone.
std::optional<Mask> mask_alone(const Distribution& values);
/// take_mask(), and mask_alone() where that takes nothing. Ranges keep a mask alone; here it is what the tensor means.
std::optional<Mask> take_any_mask(Distribution& values);

/// Of the initializer `name`; where the plan rounds it and it is a `weight` of `node`, also what the rounding of each
/// channel costs. Only the name where it is not float32. Cost: a few passes over its values.
TensorFacts constant_facts(const Model& model, const Plan& plan, const std::string& name, const onnx::NodeProto& node,
                           bool weight);

/// Of a weighted layer in an integer format. Adds nothing where the scales of `plan` are of another kind than integer
/// kernels take, or the weight is no float32 constant.
void add_integer_sums(const Model& model, const Plan& plan, const onnx::NodeProto& node, LayerFacts& facts);

}  // namespace vernier
