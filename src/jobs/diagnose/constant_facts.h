// What is known of a constant that a layer reads.
#pragma once

#include <string>

#include "causes/facts.h"
#include "model/model.h"
#include "plan/plan.h"

namespace vernier {

/// Of the initializer `name`; where the plan rounds it and it is a `weight` of `node`, also what the rounding of each
/// channel costs. Only the name where it is not float32. Cost: a few passes over its values.
TensorFacts constant_facts(const Model& model, const Plan& plan, const std::string& name, const onnx::NodeProto& node,
                           bool weight);

}  // namespace vernier
