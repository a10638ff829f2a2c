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

int summed_axis(const onnx::NodeProto& node, int rank) {
  if (rank != 2 || (node.op_type() != "Gemm" && node.op_type() != "MatMul")) return -1;
  return 1 - weight_axis(node, rank);
}

int block_along(std::int64_t length, int wanted) {
  for (int block = wanted; block >= 32; block /= 2) {
    if (length > 0 && length % block == 0) return block;
  }
  return 0;
}

}  // namespace vernier
