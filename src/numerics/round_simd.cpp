#include "numerics/round_simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numerics/round_simd-inl.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep: must come before highway.h
#include "hwy/highway.h"
#include "numerics/round_simd-inl.h"

#if HWY_ONCE
namespace vernier {

HWY_EXPORT(round_job);

RoundJob make_job(const QuantParams& params, const GridLayout& layout, std::span<const float> values,
                  std::span<float> out) {
  const CodeRange codes = code_range(params.format);
  return {.format = params.format,
          .layout = layout,
          .values = values.data(),
          .out = out.data(),
          .scale = params.scale.data(),
          .zero_point = params.zero_point.empty() ? nullptr : params.zero_point.data(),
          .lowest = static_cast<float>(params.lowest_code != 0 ? params.lowest_code : codes.lowest),
          .highest = static_cast<float>(codes.highest)};
}

void run_round_job(const RoundJob& job, RoundOutput output, RoundEvents& events) {
  HWY_DYNAMIC_DISPATCH(round_job)(job, output, events);
}

}  // namespace vernier
#endif
