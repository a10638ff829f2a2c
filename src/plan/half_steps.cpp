#include "plan/half_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/text.h"
#include "model/graph_edit.h"
#include "model/pieces.h"
#include "plan/rules/qdq_graph.h"
#include "plan/target.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

using Node = onnx::NodeProto;

/// A reduction over the dimensions and with the attributes of `like`.
void add_reduction(Pieces& pieces, const std::string& op_type, const std::string& data, const Node& like, int opset) {
  std::vector<std::string> inputs{data};
  for (int i = 1; i < like.input_size(); ++i) inputs.push_back(like.input(i));
  constexpr int kAxesOfSumsAreAnInput = 13;
  const std::vector<std::int64_t> axes = attribute_ints(like, "axes");
  const bool moves = !axes.empty() && opset >= kAxesOfSumsAreAnInput;
  if (moves) {
    inputs.push_back(pieces.constant("/axes", Tensor::of_int64({static_cast<std::int64_t>(axes.size())}, axes)));
  }
  pieces.add(op_type, inputs);
  for (const onnx::AttributeProto& attribute : like.attribute()) {
    if (!moves || attribute.name() != "axes") *pieces.last().add_attribute() = attribute;
  }
}

/// `type`: of the node's values.
void add_steps(Pieces& pieces, const Node& node, Dtype type, int opset) {
  const std::string& x = node.input(0);
  if (node.op_type() == "LogSoftmax") {
    const std::string shares = pieces.add("Softmax", {x});
    *pieces.last().mutable_attribute() = node.attribute();
    pieces.add("Log", {shares});
  } else if (node.op_type() == "ReduceLogSumExp") {
    add_reduction(pieces, "ReduceSum", pieces.add("Exp", {x}), node, opset);
    pieces.add("Log", {pieces.last().output(0)});
  } else if (node.op_type() == "LpNormalization" && attribute_int(node, "p", 2) == 2) {
    Node over = node;
    over.clear_attribute();
    set_attribute(over, "axes", std::vector<std::int64_t>{attribute_int(node, "axis", -1)});
    add_reduction(pieces, "ReduceSum", pieces.add("Mul", {x, x}), over, opset);
    const std::string norm = pieces.add("Sqrt", {std::string(pieces.last().output(0))});
    // What has no length in the format is divided by 1.
    const std::string zero = pieces.constant("/zero", Tensor(type, {}));
    const std::string none = pieces.add("Cast", {pieces.add("Equal", {norm, zero})});
    set_attribute(pieces.last(), "to", static_cast<std::int64_t>(type));
    pieces.add("Div", {x, pieces.add("Add", {norm, none})});
  }
}

}  // namespace

bool may_take_half_steps(const Model& typed) {
  return std::ranges::any_of(typed.proto.graph().node(), [](const Node& node) { return !steps_in_half(node).empty(); });
}

std::vector<std::string> spell_out_half_steps(Model& typed) {
  std::vector<std::string> layers;
  if (!may_take_half_steps(typed)) return layers;
  const QdqGraph types(typed);
  onnx::GraphProto& graph = *typed.proto.mutable_graph();
  NamePool names(typed);
  std::vector<Node> nodes;
  for (const Node& node : graph.node()) {
    const Dtype type = node.output_size() == 0 ? Dtype::Undefined : types.type(node.output(0));
    const bool half = type == Dtype::Float16 || type == Dtype::BFloat16;
    Pieces pieces(typed, graph, node, names);
    if (half && !steps_in_half(node).empty()) {
      layers.push_back(node.name());
      add_steps(pieces, node, type, default_opset(typed.proto));
    }
    if (pieces.empty()) {
      nodes.push_back(node);
      continue;
    }
    for (Node& made : pieces.finish()) nodes.push_back(std::move(made));
  }
  graph.clear_node();
  for (Node& node : nodes) *graph.add_node() = std::move(node);
  return layers;
}

}  // namespace vernier
