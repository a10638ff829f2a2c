// Sums of products, compiled once for each instruction set. A machine with fewer real lanes walks the values several
// times. Products and sums are rounded one after the other everywhere: nothing is fused.

#if defined(VERNIER_NUMERICS_GPTQ_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VERNIER_NUMERICS_GPTQ_SIMD_INL_H_
#undef VERNIER_NUMERICS_GPTQ_SIMD_INL_H_
#else
#define VERNIER_NUMERICS_GPTQ_SIMD_INL_H_
#endif

#include <array>
#include <cstddef>

#include "hwy/highway.h"
#include "numerics/gptq_simd.h"

HWY_BEFORE_NAMESPACE();
namespace vernier {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Eight chains of additions hide the latency of one.
void lane_sums(const std::array<const float*, kDotRows>& rows, const std::array<const float*, kDotColumns>& columns,
               std::size_t count, LaneSums& sums) {
  const hn::CappedTag<float, kDotLanes> d;
  const auto zero = hn::Zero(d);
  for (std::size_t first = 0; first < kDotLanes; first += hn::Lanes(d)) {
    auto s00 = zero, s01 = zero, s02 = zero, s03 = zero, s10 = zero, s11 = zero, s12 = zero, s13 = zero;
    for (std::size_t i = first; i < count; i += kDotLanes) {
      const auto r0 = hn::LoadU(d, rows[0] + i);
      const auto r1 = hn::LoadU(d, rows[1] + i);
      const auto c0 = hn::LoadU(d, columns[0] + i);
      const auto c1 = hn::LoadU(d, columns[1] + i);
      const auto c2 = hn::LoadU(d, columns[2] + i);
      const auto c3 = hn::LoadU(d, columns[3] + i);
      s00 = hn::Add(s00, hn::Mul(r0, c0));
      s01 = hn::Add(s01, hn::Mul(r0, c1));
      s02 = hn::Add(s02, hn::Mul(r0, c2));
      s03 = hn::Add(s03, hn::Mul(r0, c3));
      s10 = hn::Add(s10, hn::Mul(r1, c0));
      s11 = hn::Add(s11, hn::Mul(r1, c1));
      s12 = hn::Add(s12, hn::Mul(r1, c2));
      s13 = hn::Add(s13, hn::Mul(r1, c3));
    }
    hn::StoreU(s00, d, sums[0][0].data() + first);
    hn::StoreU(s01, d, sums[0][1].data() + first);
    hn::StoreU(s02, d, sums[0][2].data() + first);
    hn::StoreU(s03, d, sums[0][3].data() + first);
    hn::StoreU(s10, d, sums[1][0].data() + first);
    hn::StoreU(s11, d, sums[1][1].data() + first);
    hn::StoreU(s12, d, sums[1][2].data() + first);
    hn::StoreU(s13, d, sums[1][3].data() + first);
  }
}

void shared_errors(const float* shares, const float* errors, std::size_t count,
                   std::array<float, kResultsTogether>& sums) {
  const hn::CappedTag<float, kResultsTogether / 4> d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t first = 0; first < kResultsTogether; first += 4 * lanes) {
    auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
    const float* error = errors + first;
    for (std::size_t i = 0; i < count; ++i, error += kResultsTogether) {
      const auto share = hn::Set(d, shares[i]);
      s0 = hn::Add(s0, hn::Mul(share, hn::LoadU(d, error)));
      s1 = hn::Add(s1, hn::Mul(share, hn::LoadU(d, error + lanes)));
      s2 = hn::Add(s2, hn::Mul(share, hn::LoadU(d, error + 2 * lanes)));
      s3 = hn::Add(s3, hn::Mul(share, hn::LoadU(d, error + 3 * lanes)));
    }
    hn::StoreU(s0, d, sums.data() + first);
    hn::StoreU(s1, d, sums.data() + first + lanes);
    hn::StoreU(s2, d, sums.data() + first + 2 * lanes);
    hn::StoreU(s3, d, sums.data() + first + 3 * lanes);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace vernier
HWY_AFTER_NAMESPACE();
#endif
