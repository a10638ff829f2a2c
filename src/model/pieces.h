// Several nodes in the place of one.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model/model.h"
#include "vernier/tensor.h"

namespace vernier {

/// Made for one node. Names are those of the node with something behind them, new in the model.
class Pieces {
 public:
  Pieces(Model& model, onnx::GraphProto& graph, const onnx::NodeProto& node, NamePool& names)
      : model_(model), graph_(graph), node_(node), names_(names) {}

  /// The name of a constant that the graph gets: that of the node and `behind`.
  std::string constant(const std::string& behind, const Tensor& value) {
    const std::string name = names_.unique(node_.name() + behind);
    add_initializer(model_, graph_, name, value);
    return name;
  }

  /// The name of what a new node makes.
  std::string add(const std::string& op_type, const std::vector<std::string>& inputs) {
    onnx::NodeProto& made = nodes_.emplace_back();
    made.set_op_type(op_type);
    made.set_name(names_.unique(node_.name() + "/" + op_type));
    for (const std::string& input : inputs) made.add_input(input);
    made.add_output(names_.unique(node_.name() + "/" + op_type + "_output"));
    return made.output(0);
  }

  bool empty() const { return nodes_.empty(); }
  onnx::NodeProto& last() { return nodes_.back(); }

  /// The last one has the name and the output of the node.
  std::vector<onnx::NodeProto> finish() {
    nodes_.back().set_name(node_.name());
    nodes_.back().set_output(0, node_.output(0));
    return std::move(nodes_);
  }

 private:
  Model& model_;
  onnx::GraphProto& graph_;
  onnx::NodeProto node_;
  NamePool& names_;
  std::vector<onnx::NodeProto> nodes_;
};

}  // namespace vernier
