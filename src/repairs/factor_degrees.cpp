#include "repairs/factor_degrees.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <initializer_list>

#include "model/graph_edit.h"
#include "model/operator_traits.h"

namespace vernier {
namespace {

bool is_one_of(const std::string& op, std::initializer_list<const char*> names) {
  return std::ranges::find(names, op) != names.end();
}

bool is_weighted(const onnx::NodeProto& node) { return is_one_of(node.op_type(), {"Conv", "ConvTranspose", "Gemm"}); }

bool has_bias(const onnx::NodeProto& node) {
  return is_weighted(node) && node.input_size() > 2 && !node.input(2).empty();
}

std::optional<int> power_degree(const Model& model, const onnx::NodeProto& node, int base, int exponent_degree) {
  const std::optional<Tensor> exponent = float_constant(model, node.input(1));
  if (!exponent || exponent->count() != 1 || exponent_degree != 0) return std::nullopt;
  const double result = base * static_cast<double>(exponent->floats()[0]);
  if (result != std::floor(result) || std::abs(result) > 4) return std::nullopt;
  return static_cast<int>(result);
}

}  // namespace

std::optional<Tensor> float_constant(const Model& model, const std::string& name) {
  std::optional<Tensor> value = initializer(model, name);
  if (value && value->dtype() != Dtype::Float32) value.reset();
  return value;
}

bool joins_equals(const onnx::NodeProto& node) {
  return has(node, Trait::Joins) || is_one_of(node.op_type(), {"Add", "Sub", "Max", "Min", "Sum", "Mean"});
}

bool passes_first(const onnx::NodeProto& node) {
  if (node.op_type() == "MaxPool" && node.output_size() > 1) return false;  // its other output holds places
  return has(node, Trait::Moves) ||
         is_one_of(node.op_type(),
                   {"Abs", "Neg", "Relu", "LeakyRelu", "PRelu", "MaxPool", "GlobalMaxPool", "AveragePool",
                    "GlobalAveragePool", "ReduceMean", "ReduceSum", "ReduceL1", "ReduceMax", "ReduceMin", "CumSum"});
}

std::optional<int> result_degree(const Model& model, const onnx::NodeProto& node,
                                 const std::function<int(const std::string&)>& degree) {
  if (!of_onnx(node) || has_body(node) || node.input_size() == 0) return std::nullopt;
  const std::string& op = node.op_type();
  const int first = degree(node.input(0));
  const int second = node.input_size() > 1 ? degree(node.input(1)) : 0;
  if (passes_first(node)) return second == 0 ? std::optional(first) : std::nullopt;
  if (op == "Pow") return power_degree(model, node, first, second);
  if (op == "Sqrt") return first % 2 == 0 ? std::optional(first / 2) : std::nullopt;
  if (op == "Reciprocal") return -first;
  if (op == "ReduceSumSquare") return 2 * first;
  if (op == "Mul" || op == "MatMul") return first + second;
  if (op == "Div") return first - second;
  if (op == "Log") return first;  // a number behind it takes the factor out, whatever it is
  if (op == "Clip") return node.input_size() > 1 ? std::optional(first) : std::nullopt;
  if (is_weighted(node)) {
    if (has_bias(node) && !float_constant(model, node.input(2))) return std::nullopt;
    return first + second;
  }
  if (!joins_equals(node)) return std::nullopt;
  int found = 0;
  for (const std::string& input : node.input()) {
    const int own = degree(input);
    if (own != 0 && found != 0 && own != found) return std::nullopt;
    if (own != 0) found = own;
  }
  return found;
}

std::vector<int> scaled_constants(const Model& model, const onnx::NodeProto& node) {
  std::vector<int> places;
  if (has_bias(node)) places.push_back(2);
  const bool all = joins_equals(node) || node.op_type() == "Clip";
  for (int i = 0; all && i < node.input_size(); ++i) {
    if (float_constant(model, node.input(i))) places.push_back(i);
  }
  return places;
}

bool has_constant_factor(const Model& model, const onnx::NodeProto& node) {
  if (!of_onnx(node) || node.input_size() != 2 || node.input(0) == node.input(1)) return false;
  const bool second = float_constant(model, node.input(1)).has_value();
  if (node.op_type() == "Div") return second;
  return node.op_type() == "Mul" && (second || float_constant(model, node.input(0)));
}

bool has_constant_weights(const Model& model, const onnx::NodeProto& node) {
  if (!of_onnx(node) || (node.op_type() != "MatMul" && !is_weighted(node))) return false;
  const bool bias = !has_bias(node) || float_constant(model, node.input(2));
  return bias && node.input_size() > 1 && float_constant(model, node.input(1)).has_value();
}

bool multiplies_tensors(const Model& model, const onnx::NodeProto& node) {
  return is_onnx(node, "Mul") && node.input(0) != node.input(1) && !float_constant(model, node.input(0)) &&
         !float_constant(model, node.input(1));
}

std::string power_of_two(const Model& model, const onnx::NodeProto& node) {
  if (!is_onnx(node, "Mul") || node.input_size() != 2) return {};
  for (const std::string& input : node.input()) {
    const std::optional<Tensor> value = float_constant(model, input);
    int exponent = 0;
    if (value && value->count() == 1 && std::frexp(value->floats()[0], &exponent) == 0.5F) return input;
  }
  return {};
}

}  // namespace vernier
