#include "engines/onnxruntime/blocked_layout.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "model/graph_edit.h"
#include "plan/round_node.h"

namespace vernier {
namespace {

constexpr const char* kBlockedDomain = "com.microsoft.nchwc";

bool is_reordering(const onnx::NodeProto& node, const char* op_type) {
  return node.domain() == kBlockedDomain && node.op_type() == op_type && attribute_int(node, "channels_last", 0) == 0;
}

/// How many inputs are data, all of one shape, of an operator that computes each value from those in its place; 0 for
/// others.
int elementwise_inputs(const onnx::NodeProto& node) {
  static const std::map<std::string, int> kOperators{{"Relu", 1}, {"Clip", 1}, {"Sigmoid", 1}, {"Add", 2}, {"Mul", 2}};
  if (node.domain() == kDomain) {
    const bool one_scale = node.op_type() == "Round" && attribute_int(node, "axis", -1) < 0;
    return one_scale || node.op_type() == "Switch" ? 1 : 0;
  }
  if (node.domain() == "com.microsoft") return node.op_type() == "QuickGelu" ? 1 : 0;
  const auto known = kOperators.find(node.op_type());
  return node.domain().empty() && known != kOperators.end() ? known->second : 0;
}

class Reorderings {
 public:
  explicit Reorderings(onnx::GraphProto& graph) : graph_(graph) {
    for (const onnx::ValueInfoProto& value : graph.value_info()) {
      shapes_[value.name()] = value.type().tensor_type().shape().SerializeAsString();
      const auto& dims = value.type().tensor_type().shape().dim();
      if (!std::ranges::all_of(dims, [](const auto& dim) { return dim.has_dim_value(); })) shapes_.erase(value.name());
    }
  }

  void move() {
    google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
    nodes.Swap(graph_.mutable_node());
    for (onnx::NodeProto& node : nodes) {
      for (std::string& input : *node.mutable_input()) {
        if (const auto same = aliases_.find(input); same != aliases_.end()) input = same->second;
      }
      if (is_reordering(node, "ReorderInput")) {
        if (const auto blocked = blocked_.find(node.input(0)); blocked != blocked_.end()) {
          aliases_[node.output(0)] = blocked->second.input(0);
          continue;
        }
      }
      const int inputs = elementwise_inputs(node);
      if (inputs > 0 && all_blocked(node, inputs)) {
        compute_blocked(std::move(node), inputs);
        continue;
      }
      if (is_reordering(node, "ReorderOutput")) blocked_[node.output(0)] = node;
      *graph_.add_node() = std::move(node);
    }
  }

 private:
  bool all_blocked(const onnx::NodeProto& node, int inputs) const {
    const onnx::NodeProto* first = nullptr;
    for (int i = 0; i < inputs; ++i) {
      const auto blocked = blocked_.find(node.input(i));
      if (blocked == blocked_.end()) return false;
      if (first == nullptr) first = &blocked->second;
      const auto shape = shapes_.find(node.input(i));
      const auto shape_of_first = shapes_.find(node.input(0));
      if (i > 0 &&
          (shape == shapes_.end() || shape_of_first == shapes_.end() || shape->second != shape_of_first->second ||
           attribute_int(*first, "channels", 0) != attribute_int(blocked->second, "channels", 0))) {
        return false;
      }
    }
    return true;
  }

  /// The node on blocked tensors, and a reordering behind it for whoever reads its result as it was.
  void compute_blocked(onnx::NodeProto node, int inputs) {
    onnx::NodeProto reordering = blocked_.at(node.input(0));
    for (int i = 0; i < inputs; ++i) node.set_input(i, blocked_.at(node.input(i)).input(0));
    const std::string name = node.output(0);
    node.set_output(0, name + kBlocked);
    reordering.set_name(name + "/reordered");
    reordering.set_input(0, node.output(0));
    reordering.set_output(0, name);
    blocked_[name] = reordering;
    *graph_.add_node() = std::move(node);
    *graph_.add_node() = std::move(reordering);
  }

  onnx::GraphProto& graph_;
  std::map<std::string, std::string> shapes_;       // of tensors whose shape is known
  std::map<std::string, onnx::NodeProto> blocked_;  // tensor -> the ReorderOutput that makes it
  std::map<std::string, std::string> aliases_;      // what a dropped ReorderInput made -> the blocked tensor
};

/// Nothing is left that no output needs.
void drop_unread_nodes(onnx::GraphProto& graph) {
  std::set<std::string> needed;
  for (const onnx::ValueInfoProto& output : graph.output()) needed.insert(output.name());
  std::set<std::string> unread;
  for (int n = graph.node_size() - 1; n >= 0; --n) {
    const onnx::NodeProto& node = graph.node(n);
    if (std::ranges::none_of(node.output(), [&](const std::string& output) { return needed.contains(output); })) {
      unread.insert(node.output(0));
      continue;
    }
    needed.merge(tensors_read(node));
  }
  remove_nodes(graph, [&](const onnx::NodeProto& node) { return unread.contains(node.output(0)); });
}

}  // namespace

void move_reorderings(Model& optimized) {
  onnx::GraphProto& graph = *optimized.proto.mutable_graph();
  Reorderings(graph).move();
  drop_unread_nodes(graph);
}

void tell_blocked_shapes(Model& optimized) {
  onnx::GraphProto& graph = *optimized.proto.mutable_graph();
  graph.clear_value_info();
  std::map<std::string, std::string> like;  // a blocked tensor -> the first one that is known to be of its shape
  for (const onnx::NodeProto& node : graph.node()) {
    const std::string& output = node.output(0);
    std::set<std::string> shapes;  // of the inputs, that the output has too
    if (node.domain() == kBlockedDomain && node.op_type() != "ReorderOutput") {
      constexpr int kSum = 3;  // of a Conv: what is added to its result
      if (node.input_size() > kSum && like.contains(node.input(kSum))) shapes.insert(like.at(node.input(kSum)));
    } else {
      const auto end = node.input().begin() + elementwise_inputs(node);
      const auto blocked = [&](const std::string& input) { return like.contains(input); };
      if (end == node.input().begin() || !std::all_of(node.input().begin(), end, blocked)) continue;
      std::for_each(node.input().begin(), end, [&](const std::string& input) { shapes.insert(like.at(input)); });
    }
    like[output] = shapes.size() == 1 ? *shapes.begin() : output;
  }
  for (const auto& [name, first] : like) {
    onnx::ValueInfoProto& value = *graph.add_value_info();
    value.set_name(name);
    auto& type = *value.mutable_type()->mutable_tensor_type();
    type.set_elem_type(onnx::TensorProto::FLOAT);
    for (const char* axis : {"samples", "channels", "rows", "columns"}) {
      type.mutable_shape()->add_dim()->set_dim_param(first + "/" + axis);
    }
  }
}

}  // namespace vernier
