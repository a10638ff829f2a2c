#include "numerics/gptq_simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numerics/gptq_simd-inl.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep: must come before highway.h
#include "hwy/highway.h"
#include "numerics/gptq_simd-inl.h"

#if HWY_ONCE
namespace vernier {

HWY_EXPORT(lane_sums);
HWY_EXPORT(shared_errors);

void run_lane_sums(const std::array<const float*, kDotRows>& rows, const std::array<const float*, kDotColumns>& columns,
                   std::size_t count, LaneSums& sums) {
  HWY_DYNAMIC_DISPATCH(lane_sums)(rows, columns, count, sums);
}

void run_shared_errors(const float* shares, const float* errors, std::size_t count,
                       std::array<float, kResultsTogether>& sums) {
  HWY_DYNAMIC_DISPATCH(shared_errors)(shares, errors, count, sums);
}

}  // namespace vernier
#endif
