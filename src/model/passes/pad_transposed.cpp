#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "model/model.h"
#include "model/operator_traits.h"
#include "model/passes/pass.h"
#include "vernier/tensor.h"

namespace vernier::passes {
namespace {

using Sizes = std::vector<std::int64_t>;

/// One value a dimension; `fallback` for all where the node says none.
Sizes sizes_of(const onnx::NodeProto& node, const char* name, std::size_t dimensions, std::int64_t fallback) {
  Sizes sizes = attribute_ints(node, name);
  if (sizes.empty()) sizes.assign(dimensions, fallback);
  return sizes;
}

void drop_attribute(onnx::NodeProto& node, std::string_view name) {
  for (int i = node.attribute_size() - 1; i >= 0; --i) {
    if (node.attribute(i).name() == name) node.mutable_attribute()->DeleteSubrange(i, 1);
  }
}

struct Padding {
  Sizes pads, output_padding;
};

/// What gives an output of `wanted`, with nothing cut off and nothing but bias beyond what the products reach. Absent
/// where a shape is open, or where only cutting would do it.
std::optional<Padding> padding_for(const onnx::NodeProto& node, const Shape& input, const Shape& weight) {
  const Sizes wanted = attribute_ints(node, "output_shape");
  const std::size_t dimensions = wanted.size();
  if (input.size() != dimensions + 2 || weight.size() != dimensions + 2) return std::nullopt;
  const Sizes strides = sizes_of(node, "strides", dimensions, 1);
  const Sizes dilations = sizes_of(node, "dilations", dimensions, 1);
  if (strides.size() != dimensions || dilations.size() != dimensions) return std::nullopt;
  Padding padding{Sizes(2 * dimensions, 0), {}};
  for (std::size_t i = 0; i < dimensions; ++i) {
    if (input[i + 2] < 1) return std::nullopt;
    const std::int64_t reached = strides[i] * (input[i + 2] - 1) + (weight[i + 2] - 1) * dilations[i] + 1;
    const std::int64_t beyond = wanted[i] - reached;
    if (beyond < 0 || beyond >= std::max(strides[i], dilations[i])) return std::nullopt;
    padding.output_padding.push_back(beyond);
  }
  return padding;
}

}  // namespace

Outcome pad_transposed(Model& model, const Context& /*context*/) {
  std::vector<std::string> names;
  std::map<std::string, ValueType> types;
  for (onnx::NodeProto& node : *model.proto.mutable_graph()->mutable_node()) {
    const onnx::AttributeProto* const automatic = find_attribute(node, "auto_pad");
    if (!is_onnx(node, "ConvTranspose") || automatic == nullptr || automatic->s() != "VALID" ||
        find_attribute(node, "output_shape") == nullptr) {
      continue;
    }
    if (types.empty()) types = infer_types(model);
    const auto input = types.find(node.input(0)), weight = types.find(node.input(1));
    if (input == types.end() || weight == types.end()) continue;
    const std::optional<Padding> padding = padding_for(node, input->second.shape, weight->second.shape);
    if (!padding) continue;
    drop_attribute(node, "auto_pad");
    drop_attribute(node, "output_shape");
    set_attribute(node, "pads", padding->pads);
    set_attribute(node, "output_padding", padding->output_padding);
    names.push_back(node.name());
  }
  if (names.empty()) return {};
  return {.notes = {{"output-shapes-as-paddings", {{"nodes", names}}}}};
}

}  // namespace vernier::passes
