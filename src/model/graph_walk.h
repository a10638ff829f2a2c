// Small questions about the main graph that rewrites and ranges ask.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/model.h"
#include "model/operator_traits.h"

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

  /// What `node` joins along an axis, in order: a Concat, or a ConcatFromSequence behind a SequenceConstruct. Null: it
  /// does not.
  const google::protobuf::RepeatedPtrField<std::string>* concatenated(const onnx::NodeProto& node) const {
    if (is_onnx(node, "Concat")) return &node.input();
    if (!is_onnx(node, "ConcatFromSequence") || attribute_int(node, "new_axis", 0) != 0) return nullptr;
    const onnx::NodeProto* list = maker(node.input(0));
    return list != nullptr && is_onnx(*list, "SequenceConstruct") ? &list->input() : nullptr;
  }

  /// A node that reads the values of a tensor, and the name under which it does.
  struct Use {
    const onnx::NodeProto* node = nullptr;
    std::string tensor;
  };
  /// Readers of a tensor, those of what only moves it in the place of the mover.
  std::vector<Use> uses(const std::string& tensor) const {
    std::vector<Use> found;
    for (const onnx::NodeProto* reader : readers(tensor)) {
      if (!has(*reader, Trait::Moves) || reader->input(0) != tensor) {
        found.push_back({reader, tensor});
        continue;
      }
      for (const std::string& moved : reader->output()) {
        const std::vector<Use> behind = uses(moved);
        found.insert(found.end(), behind.begin(), behind.end());
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
