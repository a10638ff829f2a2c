#include "numerics/tensor_cores_simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numerics/tensor_cores_simd-inl.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep: must come before highway.h
#include "hwy/highway.h"
#include "numerics/tensor_cores_simd-inl.h"

#if HWY_ONCE
namespace vernier {

HWY_EXPORT(sum_squared_powers_of_row);
HWY_EXPORT(add_noise_to_row);
HWY_EXPORT(tf32_row);

double sum_squared_powers(const float* values, std::size_t n) {
  return HWY_DYNAMIC_DISPATCH(sum_squared_powers_of_row)(values, n);
}

void add_hashed_noise(const float* values, float* out, std::size_t n, std::uint32_t seed, std::uint32_t first,
                      float amplitude) {
  HWY_DYNAMIC_DISPATCH(add_noise_to_row)(values, out, n, seed, first, amplitude);
}

void round_row_to_tf32(const float* values, float* out, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(tf32_row)(values, out, n);
}

}  // namespace vernier
#endif
