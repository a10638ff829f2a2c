#include "plan/weight_blocks.h"

#include "model/output_channels.h"

namespace vernier {

int summed_axis(const onnx::NodeProto& node, int rank) {
  if (rank != 2 || (node.op_type() != "Gemm" && node.op_type() != "MatMul")) return -1;
  return 1 - weight_axis(node, {1, 1});
}

int block_along(std::int64_t length, int wanted) {
  for (int block = wanted; block >= 32; block /= 2) {
    if (length > 0 && length % block == 0) return block;
  }
  return 0;
}

}  // namespace vernier
