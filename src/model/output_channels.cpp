#include "model/output_channels.h"

#include <algorithm>
#include <cstdint>

#include "model/model.h"

namespace vernier {
namespace {

/// Each output channel reads one input channel, and no other does: the weight is [channels, 1, kernel].
bool is_depthwise_transpose(const onnx::NodeProto& node, const Shape& weight) {
  return weight.size() >= 3 && weight[1] == 1 && weight[0] > 1 && attribute_int(node, "group", 1) == weight[0];
}

}  // namespace

bool has_weight_axis(const onnx::NodeProto& node) {
  return node.op_type() == "Conv" || node.op_type() == "ConvTranspose" || node.op_type() == "Gemm" ||
         node.op_type() == "MatMul";
}

int weight_axis(const onnx::NodeProto& node, const Shape& weight, int input) {
  const bool left = input == 0;
  if (left && node.op_type() == "Gemm") return attribute_int(node, "transA", 0) != 0 ? 1 : 0;
  if (left) return node.op_type() != "MatMul" || weight.size() < 2 ? -1 : static_cast<int>(weight.size()) - 2;
  if (node.op_type() == "Conv") return 0;
  if (node.op_type() == "ConvTranspose") return is_depthwise_transpose(node, weight) ? 0 : 1;
  if (node.op_type() == "Gemm") return attribute_int(node, "transB", 0) != 0 ? 0 : 1;
  if (node.op_type() == "MatMul") return weight.size() < 2 ? -1 : static_cast<int>(weight.size()) - 1;
  return -1;
}

std::optional<OutputChannels> output_channels(const onnx::NodeProto& node, const Shape& weight) {
  if (!has_weight_axis(node) || weight.size() < 2) return std::nullopt;
  if (std::ranges::any_of(weight, [](std::int64_t dim) { return dim <= 0; })) return std::nullopt;
  const auto dim = [&](std::size_t i) { return static_cast<std::size_t>(weight[i]); };
  OutputChannels channels;
  for (std::size_t i = 2; i < weight.size(); ++i) channels.inner *= dim(i);
  const bool convolution = node.op_type() == "Conv" || node.op_type() == "ConvTranspose";
  if (convolution && weight.size() < 3) return std::nullopt;
  if (node.op_type() == "ConvTranspose") {  // [in, out / groups, kernel]
    const auto groups = static_cast<std::size_t>(attribute_int(node, "group", 1));
    if (groups == 0 || dim(0) % groups != 0) return std::nullopt;
    channels.per_group = dim(1);
    channels.count = channels.per_group * groups;
    channels.block = dim(0) / groups * channels.per_group * channels.inner;
    return channels;
  }
  if (node.op_type() == "Gemm" && weight.size() != 2) return std::nullopt;
  const auto axis = static_cast<std::size_t>(weight_axis(node, weight));
  channels.count = channels.per_group = dim(axis);
  channels.inner = 1;
  for (std::size_t i = axis + 1; i < weight.size(); ++i) channels.inner *= dim(i);
  channels.block = static_cast<std::size_t>(element_count(weight));
  return channels;
}

}  // namespace vernier
