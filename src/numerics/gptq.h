// GPTQ: rounding a weight one input after the other, so that later values take back what earlier ones got wrong at the
// output: the error of a sum matters, not that of its terms.
//   rows of W round to Q so that  sum over x of |(W - Q) x|^2 = sum over rows of d H d^T  is small,
//   d = w - q, H = X^T X + damping, H = L L^T;  d H d^T = |L^T d|^2, made small from its last component to its first:
//   q[j] = round(w[j] + sum over i > j of L[i,j] / L[j,j] d[i])
// Source: E. Frantar et al., "GPTQ", ICLR 2023, whose inverse this does without: its steps are Babai's nearest plane.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "numerics/round.h"
#include "vernier/tensor.h"

namespace vernier {

/// X^T X of what a layer multiplies its weights with: one square matrix for each group.
struct InputProducts {
  std::size_t groups = 1;
  std::size_t inputs = 0;   // K: products that one result sums
  std::vector<float> sums;  // [groups, K, K]
};

/// Where the weight of input k to result m lies in its tensor.
struct WeightLayout {
  std::size_t results = 0;  // of all groups
  std::size_t of_result = 0;
  std::size_t of_input = 0;  // elements from one to the next
};

/// `weight` on the grid of `grid`, every value a code of it. `damping`: added to the diagonal of X^T X, in its mean;
/// more where that is not positive definite. Inputs with the most energy are rounded first, while most others are left
/// to make up for them. Absent where the products are not finite, or all zero.
///
/// Shapes: weight any, read by `layout` as [results, K]; a group's results are neighbours.
/// Errors: Internal when sizes do not match.
/// Cost:   K^3 / 3 + results K^2 multiply-adds, K^2 floats. The same bits for any number of threads.
std::optional<std::vector<float>> gptq_round(const Tensor& weight, const WeightLayout& layout, const QuantParams& grid,
                                             const InputProducts& products, double damping, std::size_t threads);

/// Energy of what `rounded` is off at the layer's output: the sum over rows of d H d^T, H = X^T X without damping.
/// Shapes and errors as above. Cost: results K^2 multiply-adds.
double output_energy(const Tensor& weight, const WeightLayout& layout, const std::vector<float>& rounded,
                     const InputProducts& products, std::size_t threads);

}  // namespace vernier
