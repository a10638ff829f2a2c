#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "model/layers.h"
#include "model/operator_traits.h"
#include "vernier/error.h"
#include "vernier/tensor.h"

namespace vernier {

namespace {

/// Operators beside the weighted ones whose products are counted.
enum class Product { None, Weighted, Convolution, Recurrent, Attention, Heads, Einsum, OfFirst, NBits };

bool is_any_of(const std::string& op_type, std::initializer_list<const char*> names) {
  return std::ranges::find(names, op_type) != names.end();
}

Product product_of(const Layer& layer, const onnx::NodeProto& node) {
  if (layer.weighted) return Product::Weighted;
  if (layer.traits.any(Trait::Recurrent) || node.op_type() == "DynamicQuantizeLSTM") return Product::Recurrent;
  const std::string& op_type = node.op_type();
  if (node.domain() != "com.microsoft") {
    if (op_type == "Attention") return Product::Heads;
    if (op_type == "DeformConv") return Product::Convolution;
    return op_type == "Einsum" ? Product::Einsum : Product::None;
  }
  if (is_any_of(op_type, {"Attention", "QAttention"})) return Product::Attention;
  if (is_any_of(op_type, {"MultiHeadAttention", "GroupQueryAttention"})) return Product::Heads;
  if (op_type == "MatMulNBits") return Product::NBits;
  if (is_any_of(op_type, {"FusedConv", "NhwcFusedConv"})) return Product::Convolution;
  return is_any_of(op_type, {"FusedMatMul", "DynamicQuantizeMatMul", "FusedGemm"}) ? Product::OfFirst : Product::None;
}

std::int64_t vectors_of(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end() - 1, std::int64_t{1}, std::multiplies<>());
}

/// Each step meets the weights of its input and of the state, in each direction: both dimensions in front are steps
/// and sequences, in either order.
std::int64_t of_recurrent(const Shape& data, const Shape& weight, const Shape& recurrence) {
  if (data.size() != 3) return 0;
  return vectors_of(data) * (element_count(weight) + element_count(recurrence));
}

/// The projection, and all positions with all positions twice: the scores, and their sum of values.
std::int64_t of_attention(const Shape& data, const Shape& weight, const Shape& result) {
  if (data.size() != 3 || result.size() != 3) return 0;
  return vectors_of(data) * element_count(weight) + 2 * element_count(result) * data[1];
}

/// Weights [out, in / groups, kernel]: each element of the result meets one slice.
std::int64_t of_convolution(const Shape& weight, const Shape& result) {
  const Shape slice(weight.begin() + std::min<std::ptrdiff_t>(1, std::ssize(weight)), weight.end());
  return element_count(result) * element_count(slice);
}

/// Queries with keys, and the scores with values; keys of earlier calls are not counted.
std::int64_t of_heads(const Shape& query, const Shape& key, const Shape& result) {
  if (key.size() < 2) return 0;
  return (element_count(query) + element_count(result)) * key[key.size() - 2];
}

/// Each operand behind the first meets each combination of labels once, as the equation is written.
std::int64_t of_einsum(const std::string& equation, const std::vector<Shape>& operands) {
  std::map<char, std::int64_t> sizes;
  std::size_t operand = 0, axis = 0;
  for (const char sign : equation.substr(0, equation.find("->"))) {
    if (sign == '.') return 0;  // axes without labels
    if (sign == ',') {
      ++operand;
      axis = 0;
    } else if (sign != ' ') {
      if (operand >= operands.size() || axis >= operands[operand].size()) return 0;
      std::int64_t& size = sizes.try_emplace(sign, 1).first->second;
      size = std::max(size, operands[operand][axis++]);
    }
  }
  std::int64_t combinations = 1;
  for (const auto& [label, size] : sizes) combinations *= size;
  return static_cast<std::int64_t>(operand) * combinations;
}

}  // namespace

std::vector<std::string> tensors_of_products(const Layer& layer, const onnx::NodeProto& node) {
  const auto inputs = [&](std::initializer_list<int> wanted, bool result) {
    std::vector<std::string> names;
    for (const int i : wanted) {
      if (i >= node.input_size() || node.input(i).empty()) return std::vector<std::string>();
      names.push_back(node.input(i));
    }
    if (result) names.push_back(node.output(0));
    return names;
  };
  switch (product_of(layer, node)) {
    case Product::Weighted:
    case Product::Convolution:
    case Product::Attention:
    case Product::Heads:
      return inputs({0, 1}, true);
    case Product::Einsum:
      return {node.input().begin(), node.input().end()};
    case Product::Recurrent:
      return inputs({0, 1, 2}, false);
    case Product::OfFirst:
    case Product::NBits:
      return inputs({0}, true);
    case Product::None:
      break;
  }
  return {};
}

std::int64_t multiply_accumulates(const Model& model, const Layer& layer, const onnx::NodeProto& node,
                                  const std::map<std::string, Shape>& shapes) {
  const std::vector<std::string> wanted = tensors_of_products(layer, node);
  const bool known = std::ranges::all_of(
      wanted, [&](const std::string& name) { return shapes.contains(name) || initializer(model, name).has_value(); });
  if (!known && !layer.weighted) return 0;
  return multiply_accumulates(layer, node, [&](const std::string& name) {
    const auto seen = shapes.find(name);
    if (seen != shapes.end()) return seen->second;
    if (const std::optional<Tensor> value = initializer(model, name)) return value->shape();
    throw Error(ErrorKind::Internal,
                fmt::format("layer '{}': no shape of tensor '{}'", printable(layer.name), printable(name)));
  });
}

std::int64_t multiply_accumulates(const Layer& layer, const onnx::NodeProto& node,
                                  const std::function<Shape(const std::string& tensor)>& shape_of) {
  if (tensors_of_products(layer, node).empty()) return 0;
  const Product product = product_of(layer, node);
  const Shape left = shape_of(node.input(0));
  if (left.empty()) return 0;
  if (product == Product::NBits) return element_count(shape_of(node.output(0))) * attribute_int(node, "K", 0);
  if (product == Product::Convolution) return of_convolution(shape_of(node.input(1)), shape_of(node.output(0)));
  if (product == Product::Recurrent) return of_recurrent(left, shape_of(node.input(1)), shape_of(node.input(2)));
  if (product == Product::Attention) return of_attention(left, shape_of(node.input(1)), shape_of(node.output(0)));
  if (product == Product::Heads) return of_heads(left, shape_of(node.input(1)), shape_of(node.output(0)));
  if (product == Product::Einsum) {
    std::vector<Shape> operands;
    for (const std::string& input : node.input()) operands.push_back(shape_of(input));
    const onnx::AttributeProto* equation = find_attribute(node, "equation");
    return equation == nullptr ? 0 : of_einsum(equation->s(), operands);
  }
  if (layer.traits.any(Trait::Convolves)) {
    // ConvTranspose has weights [in, out / groups, kernel]: each element of its input meets one slice.
    return of_convolution(shape_of(node.input(1)), layer.op_type == "Conv" ? shape_of(node.output(0)) : left);
  }
  const std::int64_t outputs = element_count(shape_of(node.output(0)));
  const bool turned = attribute_int(node, "transA", 0) != 0 && left.size() > 1;
  return outputs * (turned ? left[left.size() - 2] : left.back());
}

}  // namespace vernier
