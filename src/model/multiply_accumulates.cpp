#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <string>

#include "base/text.h"
#include "model/layers.h"
#include "model/operator_traits.h"
#include "vernier/error.h"
#include "vernier/tensor.h"

namespace vernier {

std::int64_t multiply_accumulates(const Model& model, const Layer& layer, const onnx::NodeProto& node,
                                  const std::map<std::string, Shape>& shapes) {
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
  if (!layer.weighted) return 0;
  const Shape left = shape_of(node.input(0));
  const Shape right = shape_of(node.input(1));
  if (layer.traits.any(Trait::Convolves)) {
    // Weights [out, in / groups, kernel] and [in, out / groups, kernel]: each output (each input) element meets one
    // slice.
    const Shape slice(right.begin() + std::min<std::ptrdiff_t>(1, std::ssize(right)), right.end());
    const Shape whole = layer.op_type == "Conv" ? shape_of(node.output(0)) : left;
    return element_count(whole) * element_count(slice);
  }
  const std::int64_t outputs = element_count(shape_of(node.output(0)));
  if (left.empty()) return 0;
  const bool first = layer.op_type == "Gemm" && attribute_int(node, "transA", 0) != 0;
  return outputs * (first ? left.front() : left.back());
}

}  // namespace vernier
