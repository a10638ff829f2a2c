// Which operators engines publish that they take: names, element types and restrictions, as facts with their source.
// What a list says is not what an engine does with a given model: whoever prints this says "documented, not run".
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "model/model.h"
#include "vernier/target.h"
#include "vernier/tensor.h"

namespace vernier {

/// What the checks of one node see of its model.
struct NodeSurroundings {
  const Model& model;
  std::map<std::string, ValueType> types;
  std::set<std::string> constants;  // tensors that depend on no input of the model
  int opset = 0;

  explicit NodeSurroundings(const Model& model);
  bool constant(const std::string& tensor) const { return tensor.empty() || constants.contains(tensor); }
  /// nullopt when inference knows nothing of it.
  std::optional<Dtype> dtype(const std::string& tensor) const;
  std::optional<Shape> shape(const std::string& tensor) const;
};

struct OperatorVerdict {
  bool taken = false;
  std::string why;        // not taken: the reason
  std::string condition;  // taken: a published restriction that cannot be checked on the file; empty for none
};

/// A published list.
struct EngineOperators {
  std::string_view engine;
  std::string_view version;  // of the engine that the list describes
  std::string_view source;
  int lowest_opset, highest_opset;
  OperatorVerdict (*verdict)(const NodeSurroundings& around, const onnx::NodeProto& node);  // bodies are not looked at
};

/// Null for ONNX Runtime, which is asked itself.
const EngineOperators* engine_operators(Target target);

OperatorVerdict tensorrt_verdict(const NodeSurroundings& around, const onnx::NodeProto& node);
OperatorVerdict openvino_verdict(const NodeSurroundings& around, const onnx::NodeProto& node);

}  // namespace vernier
