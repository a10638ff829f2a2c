// Operators that ONNX Runtime adds to those of ONNX, which its optimizer writes: one stands for several of ONNX.
#pragma once

#include <onnx/onnx_pb.h>

#include <string_view>

namespace vernier {

inline bool is_onnx_runtime(const onnx::NodeProto& node) { return node.domain() == "com.microsoft"; }
/// True for that operator of ONNX Runtime.
inline bool is_onnx_runtime(const onnx::NodeProto& node, std::string_view op_type) {
  return is_onnx_runtime(node) && node.op_type() == op_type;
}

}  // namespace vernier
