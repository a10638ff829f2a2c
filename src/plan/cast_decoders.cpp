#include "plan/cast_decoders.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/nibbles.h"
#include "model/cast_codes.h"
#include "model/graph_edit.h"
#include "model/operator_traits.h"
#include "plan/constant_codes.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

/// In the node's doc_string.
constexpr const char* kForCasts = "stands for Cast and Mul";

bool is_integer_code(Dtype type) {
  return type == Dtype::Int8 || type == Dtype::UInt8 || type == Dtype::Int4 || type == Dtype::UInt4;
}

bool is_float_code(Dtype type) {
  return type == Dtype::Float8E4M3FN || type == Dtype::Float8E5M2 || type == Dtype::Float4E2M1;
}

/// How a scale lies on a tensor of codes.
struct Layout {
  int axis = -1;  // -1: one scale
  std::int64_t block = 0;
  Shape scale;
};

std::optional<Layout> layout_of(const Shape& codes, Shape scale) {
  if (scale.size() > codes.size()) return std::nullopt;
  if (element_count(scale) == 1) return Layout{};
  scale.insert(scale.begin(), codes.size() - scale.size(), 1);
  std::vector<std::size_t> along, across;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    if (scale[i] != 1 && scale[i] != codes[i]) return std::nullopt;
    if (scale[i] != 1) along.push_back(i);
    if (scale[i] == 1 && codes[i] != 1) across.push_back(i);
  }
  if (along.size() == 1) return Layout{static_cast<int>(along.front()), 0, {codes[along.front()]}};
  if (across.size() != 1) return std::nullopt;
  return Layout{static_cast<int>(across.front()), codes[across.front()], scale};
}

/// The same elements in another shape.
Tensor reshaped(const Tensor& value, const Shape& shape) {
  Tensor made(value.dtype(), shape);
  std::memcpy(made.mutable_bytes().data(), value.bytes().data(), value.byte_size());
  return made;
}

/// Integers of `type` that `zero` holds, negated on demand; empty: it holds others.
std::optional<std::vector<std::byte>> integers_in(const Tensor& zero, Dtype type, bool negated) {
  const bool is_signed = type == Dtype::Int8 || type == Dtype::Int4;
  const auto codes = static_cast<float>(1 << dtype_bits(type));
  const float least = is_signed ? -codes / 2 : 0;
  std::vector<std::byte> integers;
  for (const float value : scales_of(zero)) {
    const float integer = negated ? -value : value;
    if (integer != std::round(integer) || integer < least || integer >= least + codes) return std::nullopt;
    integers.push_back(static_cast<std::byte>(static_cast<int>(integer)));
  }
  return integers;
}

class CastDecoders {
 public:
  explicit CastDecoders(Model& model)
      : model_(model), names_(model), opset_(default_opset(model.proto)), weights_(decoded_weights(model)) {}

  bool run() {
    for_each_graph(*model_.proto.mutable_graph(), [&](onnx::GraphProto& graph) {
      for (const onnx::NodeProto& node : graph.node()) {
        for (const std::string& input : tensors_read(node)) ++readers_[input];
      }
      for (const onnx::ValueInfoProto& output : graph.output()) ++readers_[output.name()];
    });
    for_each_graph(*model_.proto.mutable_graph(), [&](onnx::GraphProto& graph) { rewrite(graph); });
    return changed_;
  }

 private:
  using Node = onnx::NodeProto;

  void rewrite(onnx::GraphProto& graph) {
    reader_of_.clear();
    for (const Node& node : graph.node()) {
      for (const std::string& input : node.input()) reader_of_[input] = &node;
    }
    std::map<const Node*, Node> replaced;
    std::set<const Node*> absorbed;
    for (const Node& node : graph.node()) {
      if (is_onnx(node, "Cast") && weights_.contains(node.output(0))) decode(graph, node, replaced, absorbed);
    }
    if (replaced.empty()) return;
    changed_ = true;
    google::protobuf::RepeatedPtrField<Node> nodes;
    nodes.Reserve(graph.node_size());
    for (Node& node : *graph.mutable_node()) {
      const auto made = replaced.find(&node);
      if (made != replaced.end()) {
        *nodes.Add() = std::move(made->second);
      } else if (!absorbed.contains(&node)) {
        *nodes.Add() = node;
      }
    }
    graph.mutable_node()->Swap(&nodes);
  }

  /// The only node that reads `tensor`, in this graph; null: there are others.
  const Node* only_reader(const std::string& tensor) const {
    const auto count = readers_.find(tensor);
    const auto reader = reader_of_.find(tensor);
    return count == readers_.end() || count->second != 1 || reader == reader_of_.end() ? nullptr : reader->second;
  }

  /// The other input of a binary operator, where it is a constant of type `type`.
  std::optional<Tensor> operand(const Node& node, const std::string& tensor, Dtype type, bool either_side) const {
    if (node.input_size() != 2) return std::nullopt;
    const bool first = node.input(0) == tensor;
    if (!first && !either_side) return std::nullopt;
    const auto value = initializer(model_, node.input(first ? 1 : 0));
    return value && value->dtype() == type ? value : std::nullopt;
  }

  /// What `node` multiplies `tensor` with; Div only in float32.
  std::optional<Tensor> scale_in(const Node* node, const std::string& tensor, Dtype type) const {
    if (node == nullptr) return std::nullopt;
    if (is_onnx(*node, "Mul")) return operand(*node, tensor, type, /*either_side=*/true);
    if (!is_onnx(*node, "Div") || type != Dtype::Float32) return std::nullopt;
    const auto divisor = operand(*node, tensor, type, /*either_side=*/false);
    if (!divisor) return std::nullopt;
    Tensor scale(Dtype::Float32, divisor->shape());
    std::ranges::transform(divisor->floats(), scale.mutable_floats().begin(), [](float value) { return 1 / value; });
    return scale;
  }

  void decode(onnx::GraphProto& graph, const Node& cast, std::map<const Node*, Node>& replaced,
              std::set<const Node*>& absorbed) {
    const auto codes = initializer(model_, cast.input(0));
    if (!codes || codes->shape().size() < 2) return;
    const bool integers = is_integer_code(codes->dtype());
    const auto type = static_cast<Dtype>(attribute_int(cast, "to", 0));
    if ((!integers && !is_float_code(codes->dtype())) || (type != Dtype::Float32 && type != Dtype::Float16)) return;
    const int needed = codes->dtype() == Dtype::Float4E2M1 ? 23 : type == Dtype::Float32 && integers ? 13 : 19;
    if (opset_ < needed) return;
    std::vector<const Node*> chain = {&cast};
    std::string made = cast.output(0);
    const Node* next = only_reader(made);
    std::optional<std::vector<std::byte>> zeros;
    Shape zero_shape;
    if (next != nullptr && integers && (is_onnx(*next, "Sub") || is_onnx(*next, "Add"))) {
      const auto zero = operand(*next, made, type, is_onnx(*next, "Add"));
      if (zero) zeros = integers_in(*zero, codes->dtype(), is_onnx(*next, "Add"));
      if (!zeros) return;
      zero_shape = zero->shape();
      chain.push_back(next);
      made = next->output(0);
      next = only_reader(made);
    }
    const Node* behind = nullptr;  // the product
    std::optional<Tensor> scale = scale_in(next, made, type);
    if (scale) {
      chain.push_back(next);
      made = next->output(0);
    } else if (!integers) {
      scale = one(type);
      if (!scale) return;
    } else {
      behind = next;
      scale = scale_behind(next, made, type, codes->shape());
      if (!scale) return;
    }
    const auto layout = layout_of(codes->shape(), scale->shape());
    if (!layout || (layout->block > 0 && opset_ < 21)) return;
    if (zeros && zeros->size() != 1 && zero_shape != scale->shape()) return;
    Node decoder;
    decoder.set_op_type("DequantizeLinear");
    decoder.set_name(chain.back()->name());
    decoder.set_doc_string(kForCasts);
    decoder.add_input(cast.input(0));
    decoder.add_input(constant(graph, made + "/scale", reshaped(*scale, layout->scale)));
    if (zeros) {
      zeros->resize(static_cast<std::size_t>(scale->count()), zeros->front());
      decoder.add_input(constant(graph, made + "/zero", codes_of(*zeros, codes->dtype(), layout->scale)));
    }
    decoder.add_output(made);
    if (layout->axis >= 0) set_attribute(decoder, "axis", std::int64_t{layout->axis});
    if (layout->block > 0) set_attribute(decoder, "block_size", layout->block);
    if (behind != nullptr) replaced[only_reader(behind->output(0))] = passing(*only_reader(behind->output(0)), *behind);
    absorbed.insert(chain.begin(), chain.end() - 1);
    replaced[chain.back()] = std::move(decoder);
  }

  static std::optional<Tensor> one(Dtype type) {
    if (type == Dtype::Float32) return Tensor::of({}, std::vector<float>{1.0F});
    return std::nullopt;
  }

  /// What is left of a node that scales a product.
  static Node passing(const Node& scaling, const Node& product) {
    Node passes;
    passes.set_op_type("Identity");
    passes.set_name(scaling.name());
    passes.add_input(product.output(0));
    passes.add_output(scaling.output(0));
    return passes;
  }

  /// The scale of the only node behind the product of `tensor`, as it lies on its codes.
  std::optional<Tensor> scale_behind(const Node* product, const std::string& tensor, Dtype type,
                                     const Shape& codes) const {
    const bool convolves = product != nullptr && is_onnx(*product, "Conv");
    if (product == nullptr || (!convolves && !is_onnx(*product, "MatMul"))) return std::nullopt;
    if (product->input_size() != 2 || product->input(1) != tensor) return std::nullopt;
    const Node* const scaling = only_reader(product->output(0));
    auto scale = scale_in(scaling, product->output(0), type);
    if (!scale) return std::nullopt;
    const auto channels = convolves ? codes.front() : codes.back();
    // Along the channels of the result, which are the last dimension, or the one behind the batch.
    const std::size_t behind = convolves ? codes.size() - 2 : 0;
    if (scale->count() != 1) {
      const Shape& shape = scale->shape();
      if (scale->count() != channels || shape.size() <= behind) return std::nullopt;
      if (shape[shape.size() - 1 - behind] != channels) return std::nullopt;
      Shape on_codes(codes.size(), 1);
      on_codes[convolves ? 0 : codes.size() - 1] = channels;
      scale = reshaped(*scale, on_codes);
    }
    return scale;
  }

  std::string constant(onnx::GraphProto& graph, const std::string& wanted, const Tensor& value) {
    std::string name = names_.unique(wanted);
    add_initializer(model_, graph, name, value);
    return name;
  }

  static Tensor codes_of(const std::vector<std::byte>& integers, Dtype type, const Shape& shape) {
    Tensor value(type, shape);
    const std::vector<std::byte> bytes = dtype_bits(type) == 4 ? packed_nibbles(integers) : integers;
    std::memcpy(value.mutable_bytes().data(), bytes.data(), std::min(bytes.size(), value.byte_size()));
    return value;
  }

  Model& model_;
  NamePool names_;
  int opset_;
  const std::set<std::string> weights_;  // what Casts make of them
  bool changed_ = false;
  std::map<std::string, int> readers_;  // and outputs that return it
  std::map<std::string, const Node*> reader_of_;
};

}  // namespace

bool dequantize_casts(Model& file) {
  bool casts = false;
  for_each_graph(file.proto.graph(), [&](const onnx::GraphProto& graph) {
    casts = casts || std::ranges::any_of(graph.node(), [&](const onnx::NodeProto& node) {
              return is_onnx(node, "Cast") && is_initializer(file, node.input(0));
            });
  });
  return casts && CastDecoders(file).run();
}

bool stands_for_casts(const onnx::NodeProto& node) { return node.doc_string() == kForCasts; }

}  // namespace vernier
