// What makes and reads the tensors of a simulated file, through the roundings that simulate_typed() puts there.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "analysis/match_layers.h"
#include "model/model.h"

namespace vernier {

/// Nodes that only round or rename, or the Sum of one input that Vernier inserts.
bool is_transparent(const onnx::NodeProto& node);

/// The main graph of a simulated file. Valid while the model is.
class SimulatedGraph {
 public:
  explicit SimulatedGraph(const Model& simulated);

  const Model& model() const { return model_; }

  /// The node that makes `tensor`; null: it is an input or a constant.
  const onnx::NodeProto* maker(const std::string& tensor) const;
  /// The tensor behind nodes that only round or rename it.
  std::string base_of(std::string tensor) const;

  /// The only node that reads `tensor`; null where several do, or none.
  const onnx::NodeProto* only_node(const std::string& tensor) const;
  /// Null as well where it is an output of the graph.
  const onnx::NodeProto* only(const std::string& tensor) const;

  /// The tensor of the file that a simulated node writes, behind the Round that simulate_typed put there.
  std::string rounded_name(const std::string& tensor) const;

  bool any_of_type(const std::string& tensor, const std::string& op_type) const;

  /// What readers of `tensor` get in the file: behind the only Round or Q/DQ pair that reads it, if nothing else does,
  /// else the tensor. Pairs of types that Round does not know, such as uint16, are left as they are in the file.
  std::string as_read(const std::string& tensor) const;

  /// Of several Rounds or pairs that read `tensor`, and nothing else does, what the one with the widest range makes; of
  /// one alone, as as_read(). It shows whether all of them clip to the same limits.
  std::string as_read_widest(const std::string& tensor) const;

 private:
  /// What a Round, or the pair of a quantizer, makes; empty for other nodes.
  std::string behind_pair(const onnx::NodeProto& reader) const;

  const Model& model_;
  const Makers made_by_;
  std::map<std::string, std::vector<const onnx::NodeProto*>> readers_;
  std::set<std::string> outputs_;
};

}  // namespace vernier
