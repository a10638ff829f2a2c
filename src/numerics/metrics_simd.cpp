#include "numerics/metrics_simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numerics/metrics_simd-inl.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep: must come before highway.h
#include "hwy/highway.h"
#include "numerics/metrics_simd-inl.h"

#if HWY_ONCE
namespace vernier {

HWY_EXPORT(sum_block);
HWY_EXPORT(range_of_block);
HWY_EXPORT(values_beyond);

ErrorStats run_sum_block(const float* ref, const float* got, std::size_t n) {
  return HWY_DYNAMIC_DISPATCH(sum_block)(ref, got, n);
}

BlockRange run_range_of_block(const float* values, std::size_t n) {
  return HWY_DYNAMIC_DISPATCH(range_of_block)(values, n);
}

BlockBeyond run_values_beyond(const float* values, std::size_t n, float low, float high, float bottom, float top,
                              float* beyond) {
  return HWY_DYNAMIC_DISPATCH(values_beyond)(values, n, low, high, bottom, top, beyond);
}

}  // namespace vernier
#endif
