#include "plan/recurrent_casts.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

#include "model/graph_edit.h"
#include "model/operator_traits.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

using Node = onnx::NodeProto;

/// Seen to let the Cast through; a one-input Sum is one of ours.
constexpr std::array<std::string_view, 12> kTransparent = {"Dropout", "Expand", "Flatten",   "Identity",
                                                           "Max",     "Mean",   "Min",       "Reshape",
                                                           "Squeeze", "Sum",    "Transpose", "Unsqueeze"};

bool lets_through(const Node& node) {
  const bool listed = std::ranges::any_of(kTransparent, [&](std::string_view name) { return is_onnx(node, name); });
  const bool combines = is_onnx(node, "Max") || is_onnx(node, "Mean") || is_onnx(node, "Min") || is_onnx(node, "Sum");
  return listed && (!combines || node.input_size() == 1);
}

bool goes_forward(const Node& node) {
  const onnx::AttributeProto* const direction = find_attribute(node, "direction");
  return direction == nullptr || direction->s() == "forward";
}

class CastsInFront {
 public:
  explicit CastsInFront(const Model& typed) : types_(infer_types(typed)) {
    for_each_graph(typed.proto.graph(), [&](const onnx::GraphProto& graph) {
      for (const Node& node : graph.node()) {
        for (const std::string& output : node.output()) makers_[output] = &node;
        for (const std::string& input : node.input()) ++readers_[input];
      }
      for (const onnx::ValueInfoProto& output : graph.output()) ++readers_[output.name()];
    });
  }

  /// `alone`: nothing else reads what stands between the Cast and the layer.
  bool reach(const Node& layer, bool alone) const {
    if (!has(layer, Trait::Recurrent) || layer.input_size() == 0) return false;
    const std::string* tensor = &layer.input(0);
    for (auto made = makers_.find(*tensor); made != makers_.end(); made = makers_.find(*tensor)) {
      const Node& node = *made->second;
      if (node.input_size() == 0 || (alone && readers_.at(*tensor) > 1)) return false;
      if (is_onnx(node, "Cast")) {
        const Dtype from = type(node.input(0));
        return type(*tensor) == Dtype::Float32 && (from == Dtype::Float16 || from == Dtype::BFloat16);
      }
      if (!lets_through(node)) return false;
      tensor = &node.input(0);
    }
    return false;
  }

 private:
  Dtype type(const std::string& tensor) const {
    const auto found = types_.find(tensor);
    return found == types_.end() ? Dtype::Undefined : found->second.dtype;
  }

  std::map<std::string, ValueType> types_;
  std::map<std::string, const Node*> makers_;
  std::map<std::string, int> readers_;
};

}  // namespace

bool may_move_casts(const Model& typed) {
  bool recurs = false, casts = false;
  for_each_graph(typed.proto.graph(), [&](const onnx::GraphProto& graph) {
    for (const Node& node : graph.node()) {
      recurs |= has(node, Trait::Recurrent);
      casts |= is_onnx(node, "Cast");
    }
  });
  return recurs && casts;
}

std::vector<std::string> layers_behind_casts(const Model& typed) {
  std::vector<std::string> layers;
  if (!may_move_casts(typed)) return layers;
  const CastsInFront casts(typed);
  for (const Node& node : typed.proto.graph().node()) {
    if (goes_forward(node) && casts.reach(node, /*alone=*/true)) layers.push_back(node.name());
  }
  return layers;
}

std::vector<std::string> hold_casts(Model& typed, NamePool& names) {
  std::vector<std::string> layers;
  if (!may_move_casts(typed)) return layers;
  const CastsInFront casts(typed);
  for_each_graph(typed.proto.graph(), [&](const onnx::GraphProto& graph) {
    for (const Node& node : graph.node()) {
      if (casts.reach(node, /*alone=*/false)) layers.push_back(node.name());
    }
  });
  if (layers.empty()) return layers;
  const std::set<std::string> held(layers.begin(), layers.end());
  const std::string zero = names.unique("cast_hold_zero");
  add_initializer(typed, *typed.proto.mutable_graph(), zero, Tensor::of({}, std::array{0.0F}));
  for_each_graph(*typed.proto.mutable_graph(), [&](onnx::GraphProto& graph) {
    google::protobuf::RepeatedPtrField<Node> nodes;
    nodes.Swap(graph.mutable_node());
    for (Node& node : nodes) {
      if (has(node, Trait::Recurrent) && held.contains(node.name())) {
        Node& hold = *graph.add_node();
        hold.set_op_type("Sub");  // x - 0 is x, negative zero too
        hold.set_name(names.unique(node.name() + "_hold_cast"));
        hold.add_input(node.input(0));
        hold.add_input(zero);
        hold.add_output(names.unique(node.input(0) + "_held"));
        node.set_input(0, hold.output(0));
      }
      graph.add_node()->Swap(&node);
    }
  });
  return layers;
}

}  // namespace vernier
