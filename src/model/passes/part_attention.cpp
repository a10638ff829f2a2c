#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model/graph_edit.h"
#include "model/operator_traits.h"
#include "model/passes/pass.h"
#include "vernier/tensor.h"

namespace vernier::passes {
namespace {

constexpr int kAxesAreAnInput = 13;

class AttentionParting {
 public:
  AttentionParting(Model& model, onnx::GraphProto& graph, const std::map<std::string, ValueType>& types,
                   NamePool& names)
      : model_(model), graph_(graph), types_(types), names_(names) {
    for (const onnx::NodeProto& node : graph.node()) {
      for (const std::string& output : node.output()) makers_[output] = &node;
    }
  }

  int run() {
    std::set<std::string> apart;
    for (const onnx::NodeProto& node : graph_.node()) {
      if (of_data(node) && as_many_heads_as_rows(node) && behind_product(node.input(0))) {
        apart.insert(node.name());
      }
    }
    for (int i = 0; i < graph_.node_size(); ++i) {
      if (!apart.contains(graph_.node(i).name())) continue;
      onnx::NodeProto product = graph_.node(i);
      onnx::NodeProto before = axis_node("Unsqueeze", product, product.input(0));
      product.set_input(0, before.output(0));
      const std::string result = product.output(0);
      product.set_output(0, names_.unique(result + "_unsqueezed"));
      onnx::NodeProto behind = axis_node("Squeeze", product, product.output(0));
      behind.set_output(0, result);
      replace_node(graph_, i, {std::move(before), std::move(product), std::move(behind)});
      i += 2;
    }
    return static_cast<int>(apart.size());
  }

 private:
  bool of_data(const onnx::NodeProto& node) const {
    return is_onnx(node, "MatMul") && !is_initializer(model_, node.input(0)) && !is_initializer(model_, node.input(1));
  }

  /// [batch, heads, rows, columns], and the batch may be open. Of data of another rank, the new axis would not be the
  /// first of the result.
  bool as_many_heads_as_rows(const onnx::NodeProto& product) const {
    const Shape* const data = shape_of_four(product.input(0));
    const Shape* const result = shape_of_four(product.output(0));
    return data != nullptr && result != nullptr && (*result)[1] == (*result)[2] && (*result)[1] > 1;
  }

  const Shape* shape_of_four(const std::string& tensor) const {
    const auto type = types_.find(tensor);
    const bool has_four = type != types_.end() && type->second.rank_known && type->second.shape.size() == 4;
    return has_four ? &type->second.shape : nullptr;
  }

  /// It was made of the result of another product of data, as by a Softmax, whole or in pieces.
  bool behind_product(const std::string& tensor) const {
    std::set<std::string> seen;
    std::vector<std::string> open{tensor};
    while (!open.empty()) {
      const std::string next = open.back();
      open.pop_back();
      const auto maker = makers_.find(next);
      if (maker == makers_.end() || !seen.insert(next).second) continue;
      const onnx::NodeProto& node = *maker->second;
      if (of_data(node)) return true;
      const bool passes = has(node, Traits(Trait::Elementwise) | Trait::Moves) || is_onnx(node, "Softmax") ||
                          node.op_type().starts_with("Reduce");
      if (passes) open.insert(open.end(), node.input().begin(), node.input().end());
    }
    return false;
  }

  onnx::NodeProto axis_node(const std::string& op_type, const onnx::NodeProto& product, const std::string& input) {
    onnx::NodeProto node;
    node.set_op_type(op_type);
    node.set_name(names_.unique(product.name() + "/" + op_type));
    node.add_input(input);
    node.add_output(names_.unique(product.name() + "/" + op_type + "_output"));
    const std::vector<std::int64_t> axes{0};
    if (default_opset(model_.proto) < kAxesAreAnInput) {
      set_attribute(node, "axes", axes);
    } else {
      node.add_input(names_.unique(node.name() + "/axes"));
      add_initializer(model_, graph_, node.input(1), Tensor::of_int64({1}, axes));
    }
    return node;
  }

  Model& model_;
  onnx::GraphProto& graph_;
  const std::map<std::string, ValueType>& types_;
  NamePool& names_;
  std::map<std::string, const onnx::NodeProto*> makers_;
};

}  // namespace

Outcome part_attention(Model& model, const Context& /*context*/) {
  const std::map<std::string, ValueType> types = infer_types(model);
  NamePool names(model);
  int parted = 0;
  for_each_graph(*model.proto.mutable_graph(),
                 [&](onnx::GraphProto& graph) { parted += AttentionParting(model, graph, types, names).run(); });
  if (parted == 0) return {};
  return {.notes = {{"attention-parted", {{"count", parted}}}}};
}

}  // namespace vernier::passes
