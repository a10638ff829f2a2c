#include "plan/typed_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <set>
#include <span>

#include "base/float_codes.h"
#include "base/format_definition.h"
#include "base/nibbles.h"
#include "base/text.h"
#include "numerics/tensor_grid.h"
#include "plan/integer_bias.h"
#include "vernier/error.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

Tensor tensor_of_bytes(Dtype dtype, const Shape& shape, std::span<const std::byte> bytes) {
  Tensor tensor(dtype, shape);
  if (!bytes.empty()) std::memcpy(tensor.mutable_bytes().data(), bytes.data(), bytes.size());
  return tensor;
}

Tensor stored(Format format, const Shape& shape, std::vector<std::byte> codes) {
  if (bits_of(format) == 4) codes = packed_nibbles(codes);
  return tensor_of_bytes(dtype_of_format(format), shape, codes);
}

/// Shape of scale and zero point: of the tensor's blocks, a vector along an axis, or a scalar.
Shape params_shape(const QuantParams& params, const Shape& tensor) {
  if (params.block > 0) return scale_shape(params, tensor);
  return params.scale.size() == 1 ? Shape{} : Shape{static_cast<std::int64_t>(params.scale.size())};
}

Tensor zero_points(const QuantParams& params, const Shape& shape) {
  const std::size_t width = bits_of(params.format) == 16 ? 2 : 1;
  std::vector<std::byte> codes(params.scale.size() * width);
  for (std::size_t i = 0; i < params.zero_point.size(); ++i) {
    const auto zero = static_cast<std::uint32_t>(params.zero_point[i]);
    for (std::size_t b = 0; b < width; ++b) codes[i * width + b] = static_cast<std::byte>(zero >> (8 * b) & 0xFFU);
  }
  return stored(params.format, shape, std::move(codes));
}

Tensor scales(const QuantParams& params, const Shape& shape, Format values) {
  QuantParams grid;
  grid.format = values;
  const auto count = static_cast<std::int64_t>(params.scale.size());
  return tensor_of_bytes(dtype_of_format(values), shape, encode(grid, 1, count, params.scale));
}

/// Block scales as the format stores them: E4M3 without the scale of the tensor, or E8M0, which TensorRT reads as
/// bytes.
Tensor block_scale_codes(const QuantParams& params, const Shape& shape, bool as_bytes) {
  if (definition_of(params.format).block_scale == BlockScale::E8M0) {
    std::vector<std::byte> codes;
    for (const float scale : params.scale) codes.push_back(static_cast<std::byte>(float8e8m0_bits(scale)));
    return tensor_of_bytes(as_bytes ? Dtype::UInt8 : Dtype::Float8E8M0, shape, codes);
  }
  QuantParams grid;
  grid.format = Format::Float8E4M3FN;
  grid.scale = {params.tensor_scale};
  const auto count = static_cast<std::int64_t>(params.scale.size());
  return tensor_of_bytes(Dtype::Float8E4M3FN, shape, encode(grid, 1, count, params.scale));
}

void collect_captured(const onnx::GraphProto& graph, std::set<std::string> known, std::set<std::string>& captured) {
  for (const onnx::ValueInfoProto& input : graph.input()) known.insert(input.name());
  for (const onnx::TensorProto& tensor : graph.initializer()) known.insert(tensor.name());
  for (const onnx::NodeProto& node : graph.node()) {
    for (const std::string& output : node.output()) known.insert(output);
  }
  const auto use = [&](const std::string& name) {
    if (!name.empty() && !known.contains(name)) captured.insert(name);
  };
  for (const onnx::NodeProto& node : graph.node()) {
    for (const std::string& input : node.input()) use(input);
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) collect_captured(attribute.g(), known, captured);
      for (const onnx::GraphProto& body : attribute.graphs()) collect_captured(body, known, captured);
    }
  }
  for (const onnx::ValueInfoProto& output : graph.output()) use(output.name());
}

}  // namespace

Dtype dtype_of_format(Format format) { return definition_of(format).stored; }

std::vector<std::string> captured_names(const onnx::GraphProto& graph) {
  std::set<std::string> captured;
  collect_captured(graph, {}, captured);
  return {captured.begin(), captured.end()};
}

TypedWeights::TypedWeights(Model& model, NamePool& names, Target target, const Progress& progress)
    : model_(model), names_(names), target_(target), stored_(progress, "storing the weights, MB", bytes_beside(model)) {
  for_each_graph(*model.proto.mutable_graph(), [&](onnx::GraphProto& graph) {
    for (const onnx::TensorProto& tensor : graph.initializer()) places_[tensor.name()] = {&graph, &tensor};
  });
}

Tensor TypedWeights::value_of(const std::string& name) const {
  if (const auto weight = model_.weights.find(name); weight != model_.weights.end()) return weight->second;
  // Its graph may be a body that hangs on no node at the moment: the whole model does not lead to it.
  return tensor_of(*places_.at(name).tensor);
}

std::string TypedWeights::in_format(const std::string& name, Format format, const std::string& layer) {
  const std::pair key{name, format};
  auto copy = copies_.find(key);
  if (copy == copies_.end()) {
    const Tensor original = value_of(name);
    const std::span<const float> values = original.floats();
    QuantParams params;
    params.format = format;
    std::vector<float> rounded(values.size());
    round_to(params, values, rounded);
    std::size_t overflows = 0;
    float worst = 0.0F;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!std::isinf(rounded[i]) || !std::isfinite(values[i])) continue;
      if (overflows++ == 0 || std::abs(values[i]) > std::abs(worst)) worst = values[i];
    }
    if (overflows > 0) {
      overflows_[key] = {"weight-overflows",
                         {{"count", overflows},
                          {"of", values.size()},
                          {"initializer", name},
                          {"format", format_name(format)},
                          {"worst", worst}}};
    }
    const std::string fresh = names_.unique(fmt::format("{}.{}", name, format_name(format)));
    const auto count = static_cast<std::int64_t>(values.size());
    add_initializer(model_, *places_.at(name).graph, fresh,
                    tensor_of_bytes(dtype_of_format(format), original.shape(), encode(params, 1, count, values)));
    copy = copies_.emplace(key, fresh).first;
    stored_.add(original.byte_size());
  }
  if (const auto overflow = overflows_.find(key); overflow != overflows_.end()) {
    notes_.push_back(overflow->second);
    notes_.back().fields.emplace_back("layer", layer);
  }
  return copy->second;
}

const StoredCodes& TypedWeights::in_codes(const std::string& name, const QuantParams& params, Format values) {
  // One initializer has one grid of a format in a plan, so that these tell the codes.
  const auto known = codes_.find({name, params.format, values});
  if (known != codes_.end()) return known->second;
  onnx::GraphProto& owner = *places_.at(name).graph;
  StoredCodes names = add_params(owner, name, params, values);
  const auto other = codes_.lower_bound({name, params.format, Format{}});
  if (other != codes_.end() && std::get<0>(other->first) == name && std::get<1>(other->first) == params.format) {
    names.codes = other->second.codes;
  } else {
    const Tensor original = value_of(name);
    names.codes = names_.unique(name + "_quantized");
    add_initializer(
        model_, owner, names.codes,
        stored(params.format, original.shape(), encode_tensor(params, original.shape(), original.floats())));
    stored_.add(original.byte_size());
  }
  return codes_.emplace(std::tuple{name, params.format, values}, names).first->second;
}

StoredCodes TypedWeights::bias_in_codes(const std::string& name, const std::vector<float>& scales) {
  const Tensor original = value_of(name);
  const std::vector<std::int32_t> codes = bias_codes(original, scales);
  onnx::GraphProto& owner = *places_.at(name).graph;
  StoredCodes names;
  names.codes = names_.unique(name + "_quantized");
  names.scale = names_.unique(name + "_scale");
  add_initializer(model_, owner, names.codes,
                  tensor_of_bytes(Dtype::Int32, original.shape(), std::as_bytes(std::span(codes))));
  const Shape shape = scales.size() == 1 ? Shape{} : Shape{static_cast<std::int64_t>(scales.size())};
  add_initializer(model_, owner, names.scale, Tensor::of(shape, scales));
  stored_biases_.insert(name);
  return names;
}

StoredCodes TypedWeights::add_params(onnx::GraphProto& graph, const std::string& tensor, const QuantParams& params,
                                     Format values) {
  StoredCodes names;
  names.scale = names_.unique(tensor + "_scale");
  if (definition_of(params.format).block_scale != BlockScale::Chosen) {
    const Shape blocks = scale_shape(params, value_of(tensor).shape());
    add_initializer(model_, graph, names.scale, block_scale_codes(params, blocks, scales_as_bytes(params.format)));
    if (params.tensor_scale == 0) return names;
    names.tensor_scale = add_scale(graph, tensor + "_tensor_scale", params.tensor_scale);
    return names;
  }
  names.zero_point = names_.unique(tensor + "_zero_point");
  const Shape shape = params_shape(params, params.block > 0 ? value_of(tensor).shape() : Shape{});
  add_initializer(model_, graph, names.scale, scales(params, shape, values));
  add_initializer(model_, graph, names.zero_point, zero_points(params, shape));
  return names;
}

std::string TypedWeights::add_scale(onnx::GraphProto& graph, const std::string& name, float scale) {
  const std::string fresh = names_.unique(name);
  add_initializer(model_, graph, fresh, Tensor::of({}, std::array{scale}));
  return fresh;
}

void TypedWeights::remove_unused() {
  std::set<std::string> read;
  for_each_graph(model_.proto.graph(), [&](const onnx::GraphProto& graph) {
    for (const onnx::NodeProto& node : graph.node()) read.insert(node.input().begin(), node.input().end());
    for (const onnx::ValueInfoProto& output : graph.output()) read.insert(output.name());
  });
  std::set<std::string> replaced;
  for (const auto& [key, copy] : copies_) replaced.insert(key.first);
  for (const auto& [key, codes] : codes_) replaced.insert(std::get<0>(key));
  replaced.insert(stored_biases_.begin(), stored_biases_.end());
  std::erase_if(replaced, [&](const std::string& name) { return read.contains(name); });
  remove_initializers(model_, replaced);
}

}  // namespace vernier
