#include "plan/weight_axis.h"

#include "model/model.h"

namespace vernier {

int weight_axis(const onnx::NodeProto& node, int rank) {
  if (node.op_type() == "Conv") return 0;
  if (node.op_type() == "ConvTranspose") return 1;
  if (node.op_type() == "Gemm") return attribute_int(node, "transB", 0) != 0 ? 0 : 1;
  if (node.op_type() == "MatMul") return rank < 2 ? -1 : rank - 1;
  return -1;
}

}  // namespace vernier
