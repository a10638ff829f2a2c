// 2:4 structured sparsity, as accelerators use it: of four neighbours along the dimension that is summed over, at least
// two are zero.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/model.h"
#include "vernier/tensor.h"

namespace vernier {

/// A weight of Conv, Gemm or MatMul in the main graph, and the dimension that is summed over. Of one stored as codes
/// behind a DequantizeLinear `name` is that of the codes.
struct SummedWeight {
  std::string name;
  std::string node;
  int axis = 0;
};
std::vector<SummedWeight> summed_weights(const Model& model);

/// Why the pattern does not apply (length not a multiple of 4, another element type), or nothing. A code is zero where
/// its value is: only int8 codes whose zero point is 0 are listed by summed_weights.
std::optional<std::string> not_prunable(const Tensor& weight, int axis);

/// Every group of four along `axis` has two zeros or more. Errors: Internal where it does not apply.
bool is_2_of_4_sparse(const Tensor& weight, int axis);

/// The two smallest by absolute value of each four become zero; of equal ones the first.
Tensor pruned_2_of_4(const Tensor& weight, int axis);

}  // namespace vernier
