// Shapes of the tensors of a network when it runs one sample.
#pragma once

#include <map>
#include <string>

#include "model/model.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {

/// Of the main graph, inputs among them, by what ONNX infers; what it cannot infer is absent. Cost: one inference.
std::map<std::string, Shape> shapes_for(const Model& model, const Sample& sample);

}  // namespace vernier
