#include <algorithm>
#include <array>
#include <cstddef>

#include "vernier/comparison.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

struct ToleranceRow {
  Dtype dtype;
  Tolerance tolerance;
};

// From fine to coarse; types that are not listed are exact. The table in comparison.h says where each comes from.
constexpr std::array<ToleranceRow, 6> kTolerances{{{Dtype::Float64, {1e-7, 1e-7}},
                                                   {Dtype::Float32, {1e-5, 1e-5}},
                                                   {Dtype::Float16, {1e-5, 1e-3}},
                                                   {Dtype::BFloat16, {1e-5, 1.6e-2}},
                                                   {Dtype::Float8E4M3FN, {1e-5, 0.125}},
                                                   {Dtype::Float8E5M2, {1e-5, 0.25}}}};

std::ptrdiff_t row_of(Dtype dtype) {
  const auto found =
      std::find_if(kTolerances.begin(), kTolerances.end(), [&](const ToleranceRow& row) { return row.dtype == dtype; });
  return found == kTolerances.end() ? -1 : found - kTolerances.begin();
}

}  // namespace

Dtype coarser_dtype(Dtype one, Dtype other) {
  if (row_of(one) >= 0 || row_of(other) >= 0) return row_of(one) >= row_of(other) ? one : other;
  return dtype_bits(one) <= dtype_bits(other) ? one : other;
}

Tolerance default_tolerance(Dtype one, Dtype other) {
  const std::ptrdiff_t row = row_of(coarser_dtype(one, other));
  return row < 0 ? Tolerance{} : kTolerances[static_cast<std::size_t>(row)].tolerance;
}

}  // namespace vernier
