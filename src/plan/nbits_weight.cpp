#include "plan/nbits_weight.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model/graph_edit.h"
#include "plan/constant_codes.h"
#include "vernier/format.h"

namespace vernier {
namespace {

/// Code `index` of a row of codes of `bits` bits, the low ones first.
int unpacked(std::span<const std::byte> row, std::size_t index, std::size_t bits) {
  const auto byte = static_cast<int>(row[index * bits / 8]);
  return byte >> (index * bits % 8) & ((1 << bits) - 1);
}

std::optional<Tensor> constant(const Model& model, const onnx::NodeProto& node, int input) {
  if (input >= node.input_size() || node.input(input).empty()) return std::nullopt;
  return initializer(model, node.input(input));
}

bool is_given(const onnx::NodeProto& node, int input) {
  return input < node.input_size() && !node.input(input).empty();
}

/// A MatMul, with an Add behind it where the MatMulNBits has a bias.
std::vector<onnx::NodeProto> as_matmul(const onnx::NodeProto& layer, const std::string& weight) {
  const std::string result = layer.output(0);
  const std::string bias = is_given(layer, 5) ? layer.input(5) : std::string();
  std::vector<onnx::NodeProto> nodes = {
      node_of("MatMul", {layer.input(0), weight}, bias.empty() ? result : result + "/product")};
  nodes[0].set_name(layer.name());
  if (bias.empty()) return nodes;
  nodes.push_back(node_of("Add", {result + "/product", bias}, result));
  nodes[1].set_name(layer.name() + "/bias");
  return nodes;
}

}  // namespace

std::optional<NBitsWeight> nbits_weight(const Model& model, const onnx::NodeProto& node) {
  if (node.op_type() != "MatMulNBits" || is_given(node, 4)) return std::nullopt;
  const auto size = [&](const char* name) { return static_cast<std::size_t>(attribute_int(node, name, 0)); };
  const std::size_t bits = static_cast<std::size_t>(attribute_int(node, "bits", 4));
  const std::size_t inputs = size("K"), outputs = size("N"), block = size("block_size");
  const auto codes = constant(model, node, 1), scale = constant(model, node, 2), zero = constant(model, node, 3);
  if ((bits != 2 && bits != 4 && bits != 8) || inputs == 0 || outputs == 0 || block == 0) return std::nullopt;
  if (!codes || !scale || (!zero && is_given(node, 3))) return std::nullopt;
  const std::size_t blocks = (inputs + block - 1) / block;
  const std::size_t row_bytes = blocks * (block * bits / 8), zero_bytes = (blocks * bits + 7) / 8;
  const std::vector<float> scales = scales_of(*scale);
  const bool packed_zeros = zero && zero->dtype() == Dtype::UInt8;
  const std::vector<float> float_zeros = zero && !packed_zeros ? scales_of(*zero) : std::vector<float>();
  if (codes->bytes().size() != outputs * row_bytes || scales.size() != outputs * blocks) return std::nullopt;
  if (packed_zeros ? zero->bytes().size() != outputs * zero_bytes
                   : zero.has_value() && float_zeros.size() != outputs * blocks) {
    return std::nullopt;
  }

  NBitsWeight weight;
  weight.values = Tensor(Dtype::Float32, {static_cast<std::int64_t>(inputs), static_cast<std::int64_t>(outputs)});
  // Codes are unsigned here. Those of 4 bits without zero points of their own are those of int4, moved.
  weight.params.format = bits == 2 ? Format::Int4 : stored_format(node);
  if (!float_zeros.empty()) weight.params.format = Format::Float32;
  if (bits == 2) weight.params.lowest_code = 4;
  const int moved = weight.params.format != Format::Int4 ? 0 : bits == 2 ? -4 : 8;
  weight.params.axis = 0;
  weight.params.block = static_cast<int>(block);
  weight.params.scale.resize(scales.size());
  if (float_zeros.empty()) weight.params.zero_point.resize(scales.size());
  const std::span<float> values = weight.values.mutable_floats();
  for (std::size_t n = 0; n < outputs; ++n) {
    const auto row = codes->bytes().subspan(n * row_bytes, row_bytes);
    for (std::size_t b = 0; b < blocks; ++b) {
      const float step = scales[n * blocks + b];
      float zero_point = static_cast<float>(1 << (bits - 1));
      if (packed_zeros) {
        zero_point = static_cast<float>(unpacked(zero->bytes().subspan(n * zero_bytes, zero_bytes), b, bits));
      } else if (zero) {
        zero_point = float_zeros[n * blocks + b];
      }
      weight.params.scale[b * outputs + n] = std::abs(step);  // whose sign the values have
      if (float_zeros.empty()) weight.params.zero_point[b * outputs + n] = static_cast<int>(zero_point) - moved;
      for (std::size_t k = b * block; k < inputs && k < (b + 1) * block; ++k) {
        values[k * outputs + n] = (static_cast<float>(unpacked(row, k, bits)) - zero_point) * step;
      }
    }
  }
  return weight;
}

void put_float(Model& model, const std::string& constant, const Tensor& values) {
  onnx::GraphProto* owner = owner_of_initializer(model, constant);
  if (owner == nullptr) return;
  const std::string weight = constant + "/float";
  bool packed = false;
  for_each_graph(*owner, [&](onnx::GraphProto& graph) {
    for (int i = 0; i < graph.node_size(); ++i) {
      const onnx::NodeProto layer = graph.node(i);
      if (layer.op_type() != "MatMulNBits" || layer.input_size() < 2 || layer.input(1) != constant) continue;
      replace_node(graph, i, as_matmul(layer, weight));
      packed = true;
    }
  });
  set_initializer(model, *owner, packed ? weight : constant, values);
}

bool holds_one_code(const Model& model, const onnx::NodeProto& node, std::size_t block) {
  const auto codes = constant(model, node, 1);
  const auto size = static_cast<std::size_t>(attribute_int(node, "block_size", 0));
  const std::size_t bytes = size * static_cast<std::size_t>(attribute_int(node, "bits", 4)) / 8;
  if (!codes || bytes == 0 || codes->byte_size() < (block + 1) * bytes) return false;
  const auto held = codes->bytes().subspan(block * bytes, bytes);
  return std::ranges::all_of(held, [&](std::byte byte) { return byte == held.front(); });
}

Format stored_format(const onnx::NodeProto& node) {
  if (node.op_type() == "DynamicQuantizeLSTM" || node.op_type() == "DynamicQuantizeMatMul") return Format::DynamicInt8;
  if (attribute_int(node, "bits", 4) > 4) return Format::UInt8;
  return node.op_type() == "MatMulNBits" && is_given(node, 3) ? Format::UInt4 : Format::Int4;
}

bool has_nbits_weights(const Model& model) {
  bool found = false;
  for_each_graph(model.proto.graph(), [&](const onnx::GraphProto& graph) {
    for (const onnx::NodeProto& node : graph.node()) found = found || node.op_type() == "MatMulNBits";
  });
  return found;
}

}  // namespace vernier
