#include "plan/engine_sums.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "model/operator_traits.h"
#include "model/output_channels.h"
#include "numerics/round.h"
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

bool is_matrix_product(const onnx::NodeProto& node) { return is_onnx(node, "MatMul") || is_onnx(node, "Gemm"); }

/// The bias of a Gemm is one row of its result.
bool adds_a_row(const onnx::NodeProto& node, const SumShapes& shapes) {
  if (!is_onnx(node, "Gemm") || shapes.bias.size() != 1) return false;
  const std::int64_t columns = shapes.weight[attribute_int(node, "transB", 0) != 0 ? 0 : 1];
  return shapes.bias[0] == columns && attribute_float(node, "beta", 1) == 1;
}

bool all_in_float32(const TensorReaders& readers, const EngineSums::ReadsFloat32& reads_float32) {
  if (readers.low_output || (readers.nodes.empty() && !readers.float_output)) return false;
  return std::ranges::all_of(readers.nodes, [&](const onnx::NodeProto* node) { return reads_float32(*node); });
}

}  // namespace

std::int64_t roundings_of_sum(const onnx::NodeProto& node, const Shape& weight) {
  std::int64_t products = 1;
  if (is_matrix_product(node)) {
    if (weight.size() != 2) return 1;
    products = weight[is_onnx(node, "Gemm") && attribute_int(node, "transB", 0) != 0 ? 1 : 0];
  } else {
    const bool depthwise = weight.size() > 1 && weight[1] == 1 && attribute_int(node, "group", 1) > 1;
    if (weight.size() < 3 || depthwise) return 1;
    for (std::size_t i = 1; i < weight.size(); ++i) products *= weight[i];
  }
  return products < 1 ? 1 : (products + kProductsEachRounding - 1) / kProductsEachRounding;
}

SumShapes sum_shapes(const Model& model, const onnx::NodeProto& node) {
  const auto shape = [&](int index) {
    const bool there = has_weight_axis(node) && node.input_size() > index && !node.input(index).empty();
    const auto value = there ? initializer(model, node.input(index)) : std::nullopt;
    return value ? value->shape() : Shape{};
  };
  return {shape(1), shape(2)};
}

std::optional<onnx::NodeProto> EngineSums::behind(onnx::NodeProto& node, Format format, const std::string& layer,
                                                  const SumShapes& shapes) const {
  if (arithmetic_.accumulate != Accumulate::Float16) return {};
  const bool product = is_matrix_product(node) && shapes.weight.size() == 2;
  if (!is_onnx(node, "Conv") && !product) return {};
  if (format != Format::Float16 && format != Format::BFloat16) return {};
  const std::int64_t roundings = format == Format::Float16 ? roundings_of_sum(node, shapes.weight) : 1;
  std::string bias = node.input_size() > 2 ? node.input(2) : "";
  if (product && !adds_a_row(node, shapes)) bias.clear();
  if (roundings == 1 && bias.empty()) return {};
  const std::string sum = node.output(0);
  node.set_output(0, sum + "/products");
  if (product && !bias.empty()) {
    set_attribute(node, "beta", 0.0F);  // before opset 11 it cannot do without
  } else {
    while (!bias.empty() && node.input_size() > 2) node.mutable_input()->RemoveLast();
  }
  return accumulate_node(node.output(0), bias, sum, format, roundings, seed_of(layer), product);
}

void EngineSums::round_norm(Model& model, onnx::GraphProto& graph, onnx::NodeProto& node, Format format) const {
  if (arithmetic_.accumulate != Accumulate::Float16 || format != Format::Float16) return;
  if (!is_onnx(node, "BatchNormalization") || node.input_size() != 5 || node.output_size() != 1) return;
  std::vector<Tensor> values;
  for (int i = 1; i < 5; ++i) {
    const auto value = initializer(model, node.input(i));
    if (!value || value->dtype() != Dtype::Float32 || (i > 1 && value->count() != values.front().count())) return;
    values.push_back(*value);
  }
  const float epsilon = attribute_float(node, "epsilon", 1e-5F);
  Tensor scale(Dtype::Float32, values[0].shape());
  Tensor shift(Dtype::Float32, values[0].shape());
  const Tensor zeros(Dtype::Float32, values[0].shape());
  Tensor ones(Dtype::Float32, values[0].shape());
  for (std::size_t i = 0; i < scale.floats().size(); ++i) {
    const float factor = values[0].floats()[i] / std::sqrt(values[3].floats()[i] + epsilon);
    scale.mutable_floats()[i] = factor;
    shift.mutable_floats()[i] = values[1].floats()[i] - values[2].floats()[i] * factor;
    ones.mutable_floats()[i] = 1;
  }
  QuantParams params;
  params.format = format;
  round_to(params, scale.floats(), scale.mutable_floats());
  round_to(params, shift.floats(), shift.mutable_floats());
  const std::string& name = node.output(0);
  const std::pair<const char*, const Tensor*> rows[] = {
      {"/scale", &scale}, {"/shift", &shift}, {"/zeros", &zeros}, {"/ones", &ones}};
  int input = 1;
  for (const auto& [suffix, value] : rows) {
    add_initializer(model, graph, name + suffix, *value);
    node.set_input(input++, name + suffix);
  }
  set_attribute(node, "epsilon", 0.0F);
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
      node.set_input(i, rounded);
      continue;
    }
    const auto [known, added] = names.of_tensor.emplace(name, rounded + names.place);
    if (added) *graph.add_node() = tf32_node(name, known->second);
    node.set_input(i, known->second);
  }
}

}  // namespace vernier
