#include "plan/engine_sums.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "model/operator_traits.h"
#include "model/output_channels.h"
#include "numerics/tensor_cores.h"
#include "plan/round_node.h"

namespace vernier {
namespace {

constexpr std::int64_t kProductsEachRounding = 16;

/// FNV-1a: equal on every machine, unlike std::hash.
std::uint32_t seed_of(const std::string& layer) {
  std::uint32_t hash = 2166136261U;
  for (const char letter : layer) hash = (hash ^ static_cast<unsigned char>(letter)) * 16777619U;
  return hash;
}

/// Element by element, of one tensor.
bool is_activation(const onnx::NodeProto& node) {
  return traits_of(node).any(Trait::Elementwise) && node.input_size() == 1 && node.output_size() == 1;
}

bool all_in_float32(const TensorReaders& readers, const EngineSums::ReadsFloat32& reads_float32) {
  if (readers.low_output || (readers.nodes.empty() && !readers.float_output)) return false;
  return std::ranges::all_of(readers.nodes, [&](const onnx::NodeProto* node) { return reads_float32(*node); });
}

}  // namespace

std::int64_t roundings_of_sum(const onnx::NodeProto& conv, const Shape& weight) {
  if (weight.size() < 3) return 1;
  const bool depthwise = weight[1] == 1 && attribute_int(conv, "group", 1) > 1;
  if (depthwise) return 1;
  std::int64_t products = 1;
  for (std::size_t i = 1; i < weight.size(); ++i) products *= weight[i];
  return products < 1 ? 1 : (products + kProductsEachRounding - 1) / kProductsEachRounding;
}

std::optional<onnx::NodeProto> EngineSums::behind(onnx::NodeProto& node, Format format, const std::string& layer,
                                                  const Shape& weight) const {
  if (arithmetic_.accumulate != Accumulate::Float16 || !is_onnx(node, "Conv")) return {};
  if (format != Format::Float16 && format != Format::BFloat16) return {};
  const std::int64_t roundings = format == Format::Float16 ? roundings_of_sum(node, weight) : 1;
  const std::string bias = node.input_size() > 2 ? node.input(2) : "";
  if (roundings == 1 && bias.empty()) return {};
  const std::string sum = node.output(0);
  node.set_output(0, sum + "/products");
  while (node.input_size() > 2) node.mutable_input()->RemoveLast();
  return accumulate_node(node.output(0), bias, sum, format, roundings, seed_of(layer));
}

std::vector<std::string> EngineSums::unrounded(const onnx::NodeProto& node, const ReadersOf& readers_of,
                                               const ReadsFloat32& reads_float32) const {
  if (arithmetic_.accumulate != Accumulate::Float16 || !is_onnx(node, "MatMul")) return {};
  const std::string& product = node.output(0);
  const TensorReaders readers = readers_of(product);
  if (all_in_float32(readers, reads_float32)) return {product};
  if (readers.nodes.size() != 1 || readers.float_output || readers.low_output) return {};
  const onnx::NodeProto& behind = *readers.nodes.front();
  if (!is_activation(behind) || !all_in_float32(readers_of(behind.output(0)), reads_float32)) return {};
  return {product, behind.output(0)};
}

void EngineSums::read_tf32(Model& model, const Model& source, onnx::GraphProto& graph, onnx::NodeProto& node,
                           Tf32Names& names) {
  if (!arithmetic_.tf32 || !has_weight_axis(node)) return;
  for (int i = 0; i < 2 && i < node.input_size(); ++i) {
    const std::string name = node.input(i);
    const std::string rounded = name + "/tf32";
    auto constant = initializer(model, name);
    if (!constant) constant = initializer(source, name);
    if (constant && constant->dtype() == Dtype::Float32) {
      if (constants_.emplace(name, rounded).second) {
        Tensor values(Dtype::Float32, constant->shape());
        round_to_tf32(constant->floats(), values.mutable_floats());
        add_initializer(model, *model.proto.mutable_graph(), rounded, values);
      }
    } else if (names.emplace(name, rounded).second) {
      *graph.add_node() = tf32_node(name, rounded);
    }
    node.set_input(i, rounded);
  }
}

}  // namespace vernier
