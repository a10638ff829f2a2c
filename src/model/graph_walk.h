// Small questions about the main graph that rewrites and ranges ask.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/model.h"

namespace vernier {

class GraphWalk {
 public:
  explicit GraphWalk(const Model& model) : graph_(model.proto.graph()) {
    for (const onnx::NodeProto& node : graph_.node()) {
      for (const std::string& output : node.output()) maker_[output] = &node;
      for (const std::string& input : node.input()) readers_[input].push_back(&node);
    }
  }

  /// Null for graph inputs and constants.
  const onnx::NodeProto* maker(const std::string& tensor) const {
    const auto found = maker_.find(tensor);
    return found == maker_.end() ? nullptr : found->second;
  }

  const std::vector<const onnx::NodeProto*>& readers(const std::string& tensor) const {
    static const std::vector<const onnx::NodeProto*> kNone;
    const auto found = readers_.find(tensor);
    return found == readers_.end() ? kNone : found->second;
  }

  /// The node only moves or selects values of its first input.
  static bool moves(const onnx::NodeProto& node) {
    static const char* const kMoving[] = {"Slice",     "Reshape",  "Expand", "Unsqueeze", "Squeeze",
                                          "Transpose", "Identity", "Gather", "Flatten",   "Tile"};
    for (const char* op_type : kMoving) {
      if (node.op_type() == op_type) return true;
    }
    return false;
  }

  /// Readers of a tensor, those of what only moves it in the place of the mover.
  std::vector<const onnx::NodeProto*> users(const std::string& tensor) const {
    std::vector<const onnx::NodeProto*> found;
    for (const onnx::NodeProto* reader : readers(tensor)) {
      if (moves(*reader) && reader->input(0) == tensor) {
        const auto behind = users(reader->output(0));
        found.insert(found.end(), behind.begin(), behind.end());
      } else {
        found.push_back(reader);
      }
    }
    return found;
  }

 private:
  const onnx::GraphProto& graph_;
  std::map<std::string, const onnx::NodeProto*> maker_;
  std::map<std::string, std::vector<const onnx::NodeProto*>> readers_;
};

}  // namespace vernier
