#include "plan/engine_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "model/operator_traits.h"
#include "numerics/round.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

using Node = onnx::NodeProto;

bool is_half(Dtype type) { return type == Dtype::Float16 || type == Dtype::BFloat16; }

bool is_one_of(const Node& node, std::initializer_list<std::string_view> operators) {
  return std::ranges::any_of(operators, [&](std::string_view name) { return is_onnx(node, name); });
}

/// A constant of one element.
std::optional<float> constant_number(const QdqGraph& graph, const std::string& tensor) {
  const auto value = graph.value(tensor);
  if (!value || value->count() != 1) return std::nullopt;
  if (value->dtype() == Dtype::Float32) return value->floats().front();
  if (!is_half(value->dtype())) return std::nullopt;
  QuantParams params;
  params.format = value->dtype() == Dtype::Float16 ? Format::Float16 : Format::BFloat16;
  return decode(params, 1, 1, value->bytes()).front();
}

bool has_limit(const Node& node, int index) { return node.input_size() > index && !node.input(index).empty(); }

/// The constant beside the data of a Max or Min.
std::optional<std::pair<std::string, float>> constant_beside(const QdqGraph& graph, const Node& node) {
  if (node.input_size() != 2) return std::nullopt;
  for (int i = 0; i < 2; ++i) {
    if (const auto value = constant_number(graph, node.input(i))) return std::pair{node.input(1 - i), *value};
  }
  return std::nullopt;
}

/// A Max with 0: a Relu under another name.
bool is_max_with_zero(const QdqGraph& graph, const Node& node) {
  const auto values = is_onnx(node, "Max") ? constant_beside(graph, node) : std::nullopt;
  return values && values->second == 0;
}

/// In bfloat16, with one limit of two.
bool lacks_a_limit(const QdqGraph& graph, const Node& node) {
  return is_onnx(node, "Clip") && graph.type(node.output(0)) == Dtype::BFloat16 &&
         has_limit(node, 1) != has_limit(node, 2);
}

/// The data of a node that cuts from 0 to an upper limit as the engine reads it, a Max in front of it included; null:
/// it is none.
const std::string* cut_from_zero(const QdqGraph& graph, const Node& node) {
  if (is_onnx(node, "Clip")) {
    const bool lacks = lacks_a_limit(graph, node);
    const bool from_zero = has_limit(node, 1) ? constant_number(graph, node.input(1)) == 0.0F : lacks;
    const bool to_limit = has_limit(node, 2) ? constant_number(graph, node.input(2)).has_value() : lacks;
    return from_zero && to_limit ? &node.input(0) : nullptr;
  }
  const auto values = is_onnx(node, "Min") ? constant_beside(graph, node) : std::nullopt;
  const Node* const lower = values ? graph.maker(values->first) : nullptr;
  if (lower == nullptr || !is_max_with_zero(graph, *lower)) return nullptr;
  return &lower->input(graph.constant(lower->input(0)) ? 1 : 0);
}

/// Behind a convolution in a low type, a Relu between or not.
bool behind_convolution(const QdqGraph& graph, const std::string& tensor) {
  const Node* made = graph.maker(tensor);
  while (made != nullptr && is_onnx(*made, "Relu")) made = graph.maker(made->input(0));
  return made != nullptr && has(*made, Trait::Convolves) && is_half(graph.type(made->output(0)));
}

/// Some reader of `tensor`, through operators that move values, reads it in float32 and is one that `counts`.
bool read_in_float32(const QdqGraph& graph, const std::string& tensor, bool as_float32,
                     const std::function<bool(const Node&)>& counts) {
  return std::ranges::any_of(graph.readers(tensor), [&](const Node* reader) {
    if (has(*reader, Trait::Moves)) return read_in_float32(graph, reader->output(0), as_float32, counts);
    if (is_onnx(*reader, "Cast")) {
      return graph.type(reader->output(0)) == Dtype::Float32 && read_in_float32(graph, reader->output(0), true, counts);
    }
    if (!as_float32 && graph.type(tensor) == Dtype::BFloat16)
      as_float32 = is_one_of(*reader, {"AveragePool", "MaxPool"});
    return as_float32 && counts(*reader);
  });
}

bool has_kernel_of_its_own(const Node& node) {
  return has(node, Trait::Convolves) || is_one_of(node, {"AveragePool", "MaxPool"});
}

Node limit_node(std::string_view op_type, const std::string& name, const std::vector<std::string>& inputs,
                const std::string& output) {
  Node node;
  node.set_op_type(std::string(op_type));
  node.set_name(name);
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(output);
  return node;
}

/// The node that has the one limit of `clip`.
Node one_limit(const QdqGraph& graph, const Node& clip) {
  const bool lower = has_limit(clip, 1);
  const std::string& limit = clip.input(lower ? 1 : 2);
  if (lower && constant_number(graph, limit) == 0.0F)
    return limit_node("Relu", clip.name(), {clip.input(0)}, clip.output(0));
  return limit_node(lower ? "Max" : "Min", clip.name(), {clip.input(0), limit}, clip.output(0));
}

/// Nodes of the main graph by what they make, and what is to stand there.
using Replacements = std::map<std::string, std::vector<Node>>;

void replace_makers(Model& model, Replacements replacements) {
  google::protobuf::RepeatedPtrField<Node> nodes;
  nodes.Swap(model.proto.mutable_graph()->mutable_node());
  for (Node& node : nodes) {
    const auto found = node.output_size() > 0 ? replacements.find(node.output(0)) : replacements.end();
    if (found == replacements.end()) {
      model.proto.mutable_graph()->add_node()->Swap(&node);
      continue;
    }
    for (Node& step : found->second) model.proto.mutable_graph()->add_node()->Swap(&step);
  }
}

}  // namespace

bool may_lose_limits(const Model& typed) {
  return std::ranges::any_of(typed.proto.graph().node(), [](const Node& node) {
    return is_one_of(node, {"Clip", "Min"});
  });
}

LostLimit lost_limit(const QdqGraph& graph, const Node& node) {
  if (node.output_size() != 1 || !is_half(graph.type(node.output(0)))) return LostLimit::None;
  const std::string* const data = cut_from_zero(graph, node);
  const std::string& result = node.output(0);
  const bool fused = data != nullptr && graph.readers(result).size() == 1 && !graph.is_output(result) &&
                     behind_convolution(graph, *data) && read_in_float32(graph, result, false, has_kernel_of_its_own);
  if (!lacks_a_limit(graph, node)) return fused ? LostLimit::Upper : LostLimit::None;
  if (!fused) return LostLimit::Absent;
  return has_limit(node, 1) ? LostLimit::None : LostLimit::Both;  // without the upper 0 it is a Relu again
}

std::vector<std::string> spell_out_limits(Model& typed, NamePool& names) {
  std::vector<std::string> lost;
  if (!may_lose_limits(typed)) return lost;
  const QdqGraph graph(typed);
  Replacements replacements;
  for (const Node& node : graph.graph().node()) {
    if (lost_limit(graph, node) != LostLimit::None) lost.push_back(node.name());
    if (node.output_size() != 1 || !is_half(graph.type(node.output(0)))) continue;
    const std::string& result = node.output(0);
    if (lacks_a_limit(graph, node)) {
      replacements[result] = {one_limit(graph, node)};
      continue;
    }
    // Whatever stands in front or behind: other kernels may be fused as those that were seen, and nothing is lost by
    // it.
    const std::string* const data = cut_from_zero(graph, node);
    if (data == nullptr || !read_in_float32(graph, result, false, [](const Node&) { return true; })) continue;
    if (is_onnx(node, "Clip")) {
      const std::string positive = names.unique(result + "_positive");
      replacements[result] = {limit_node("Relu", names.unique(node.name() + "_positive"), {*data}, positive),
                              limit_node("Min", node.name(), {positive, node.input(2)}, result)};
    } else {
      const Node& lower = *graph.maker(constant_beside(graph, node)->first);
      replacements[lower.output(0)] = {limit_node("Relu", lower.name(), {*data}, lower.output(0))};
    }
  }
  replace_makers(typed, std::move(replacements));
  return lost;
}

std::vector<std::string> lose_limits(Model& typed) {
  const QdqGraph graph(typed);
  std::vector<std::string> layers;
  Replacements replacements;
  for (const Node& node : graph.graph().node()) {
    const LostLimit lost = lost_limit(graph, node);
    if (lost == LostLimit::None) continue;
    layers.push_back(node.name());
    const std::string& result = node.output(0);
    if (lost != LostLimit::Absent) {
      replacements[result] = {limit_node("Relu", node.name(), {*cut_from_zero(graph, node)}, result)};
      continue;
    }
    // min(max(x, 0), 0), and min(max(x, 0), limit).
    Node with_zero = node;
    while (with_zero.input_size() < 3) with_zero.add_input("");
    const std::string zero = result + "/zero";
    with_zero.set_input(has_limit(node, 1) ? 2 : 1, zero);
    Tensor value(Dtype::BFloat16, {});
    add_initializer(typed, *typed.proto.mutable_graph(), zero, value);
    replacements[result] = {std::move(with_zero)};
  }
  replace_makers(typed, std::move(replacements));
  return layers;
}

}  // namespace vernier
