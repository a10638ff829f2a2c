// Which tensors of a node must change type together, read from its ONNX schema: formal inputs and outputs that name the
// same type variable ("T") have one type. Nothing here is a hand-written list of operators.
#pragma once

#include <onnx/onnx_pb.h>

#include <set>
#include <string>
#include <vector>

#include "vernier/tensor.h"

namespace vernier {

/// Type of one actual input or output of a node.
struct TypeSlot {
  /// Name of the type variable. Empty: the type is fixed, or each argument of a variadic one has its own.
  std::string variable;
  /// Element types of tensors that the slot may hold.
  std::set<Dtype> admits;
};

struct NodeTypes {
  bool has_schema = false;  // false: an operator of a domain that ONNX does not define, or not at this opset
  std::vector<TypeSlot> inputs;
  std::vector<TypeSlot> outputs;
};

/// Types of the inputs and outputs that `node` really has, in order.
NodeTypes node_types(const onnx::NodeProto& node, int opset);

}  // namespace vernier
