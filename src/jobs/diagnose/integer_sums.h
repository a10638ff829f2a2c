// What sums of products come to in integer kernels: whether they leave the accumulator, and what the bias does there.
#pragma once

#include "causes/facts.h"
#include "model/model.h"
#include "plan/plan.h"

namespace vernier {

/// Of a weighted layer in an integer format. Adds nothing where the scales of `plan` are of another kind than integer
/// kernels take, or the weight is no float32 constant.
void add_integer_sums(const Model& model, const Plan& plan, const onnx::NodeProto& node, LayerFacts& facts);

}  // namespace vernier
