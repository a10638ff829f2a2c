// How a factor on the inputs of an operator comes out of it: f^2 behind a square, f behind its root, f behind a sum of
// which every part has it. The exponent is called the degree of a tensor; 0: it has none of the factor.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/model.h"
#include "vernier/tensor.h"

namespace vernier {

/// A float32 constant; nothing for another tensor.
std::optional<Tensor> float_constant(const Model& model, const std::string& name);

/// Sums and comparisons of several inputs, all of which must have one degree.
bool joins_equals(const onnx::NodeProto& node);

/// Gives the first input's factor to the result, whatever the others are.
bool passes_first(const onnx::NodeProto& node);

/// Degree of the result when the inputs have the degrees that `degree` says. Nothing: the operator does not pass a
/// factor on, or not this one. Constants at `scaled_constants` are taken to get the factor too.
std::optional<int> result_degree(const Model& model, const onnx::NodeProto& node,
                                 const std::function<int(const std::string&)>& degree);

/// Places of the constants that must get the factor of the result: what is added to it, or compared with it.
std::vector<int> scaled_constants(const Model& model, const onnx::NodeProto& node);

/// Multiplies by a constant, or divides by one: it can take a factor in.
bool has_constant_factor(const Model& model, const onnx::NodeProto& node);

/// A layer with constant weights, and a constant bias or none: they can take a factor in.
bool has_constant_weights(const Model& model, const onnx::NodeProto& node);

/// A product of two tensors, such as a width and a height, or a hidden layer and its gate.
bool multiplies_tensors(const Model& model, const onnx::NodeProto& node);

/// The power of two that a Mul multiplies by, the name of that constant; empty: it is no such Mul.
std::string power_of_two(const Model& model, const onnx::NodeProto& node);

}  // namespace vernier
