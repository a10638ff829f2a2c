// Sums of one block, compiled once for each instruction set. A block has eight virtual double lanes: element i belongs
// to lane i % 8, each lane adds its elements in order, and the lanes are added in a fixed tree at the end. A machine
// with fewer real lanes walks the block several times, which costs little while the block sits in the first-level
// cache.

#if defined(VERNIER_NUMERICS_METRICS_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VERNIER_NUMERICS_METRICS_SIMD_INL_H_
#undef VERNIER_NUMERICS_METRICS_SIMD_INL_H_
#else
#define VERNIER_NUMERICS_METRICS_SIMD_INL_H_
#endif

#include <cstddef>

#include "hwy/highway.h"
#include "numerics/metrics_simd.h"

HWY_BEFORE_NAMESPACE();
namespace vernier {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

struct BlockLanes {
  HWY_ALIGN double ref_energy[kErrorLanes];
  HWY_ALIGN double got_energy[kErrorLanes];
  HWY_ALIGN double dot[kErrorLanes];
  HWY_ALIGN double error_energy[kErrorLanes];
  HWY_ALIGN double error_sum[kErrorLanes];
  HWY_ALIGN double max_abs_error[kErrorLanes];
  HWY_ALIGN double max_abs_ref[kErrorLanes];
};

/// Fills lanes [first, first + Lanes) of a block.
template <class D>
HWY_INLINE void sum_lanes(D d, const float* ref, const float* got, std::size_t n, std::size_t first,
                          BlockLanes& lanes) {
  const hn::Rebind<float, D> df;
  using V = hn::Vec<D>;
  V ref_energy = hn::Zero(d);
  V got_energy = hn::Zero(d);
  V dot = hn::Zero(d);
  V error_energy = hn::Zero(d);
  V error_sum = hn::Zero(d);
  V max_abs_error = hn::Zero(d);
  V max_abs_ref = hn::Zero(d);
  for (std::size_t i = first; i < n; i += kErrorLanes) {
    const V r = hn::PromoteTo(d, hn::LoadU(df, ref + i));
    const V g = hn::PromoteTo(d, hn::LoadU(df, got + i));
    const V e = hn::Sub(g, r);
    // The product of two float32 is exact in double, so it does not matter whether MulAdd is fused. The square of the
    // error is not exact: there the two roundings are spelled out.
    ref_energy = hn::MulAdd(r, r, ref_energy);
    got_energy = hn::MulAdd(g, g, got_energy);
    dot = hn::MulAdd(r, g, dot);
    error_energy = hn::Add(error_energy, hn::Mul(e, e));
    error_sum = hn::Add(error_sum, e);
    max_abs_error = hn::Max(max_abs_error, hn::Abs(e));
    max_abs_ref = hn::Max(max_abs_ref, hn::Abs(r));
  }
  hn::Store(ref_energy, d, lanes.ref_energy + first);
  hn::Store(got_energy, d, lanes.got_energy + first);
  hn::Store(dot, d, lanes.dot + first);
  hn::Store(error_energy, d, lanes.error_energy + first);
  hn::Store(error_sum, d, lanes.error_sum + first);
  hn::Store(max_abs_error, d, lanes.max_abs_error + first);
  hn::Store(max_abs_ref, d, lanes.max_abs_ref + first);
}

HWY_INLINE double tree_sum(const double (&v)[kErrorLanes]) {
  return ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));
}

HWY_INLINE double tree_max(const double (&v)[kErrorLanes]) {
  double largest = v[0];
  for (const double lane : v) largest = lane > largest ? lane : largest;
  return largest;
}

ErrorStats sum_block(const float* ref, const float* got, std::size_t n) {
  const hn::CappedTag<double, kErrorLanes> d;
  BlockLanes lanes;
  for (std::size_t first = 0; first < kErrorLanes; first += hn::Lanes(d)) sum_lanes(d, ref, got, n, first, lanes);
  ErrorStats sums;
  sums.ref_energy = tree_sum(lanes.ref_energy);
  sums.got_energy = tree_sum(lanes.got_energy);
  sums.dot = tree_sum(lanes.dot);
  sums.error_energy = tree_sum(lanes.error_energy);
  sums.error_sum = tree_sum(lanes.error_sum);
  sums.max_abs_error = tree_max(lanes.max_abs_error);
  sums.max_abs_ref = tree_max(lanes.max_abs_ref);
  return sums;
}

BlockRange range_of_block(const float* values, std::size_t n) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const std::size_t lanes = hn::Lanes(d);
  V low = hn::Set(d, values[0]);
  V high = low;
  V odd = hn::Zero(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const V v = hn::LoadU(d, values + i);
    low = hn::Min(low, v);
    high = hn::Max(high, v);
    odd = hn::Or(odd, hn::Sub(v, v));  // +0 for a number, NaN for NaN and infinities
  }
  BlockRange range{hn::GetLane(hn::MinOfLanes(d, low)), hn::GetLane(hn::MaxOfLanes(d, high)),
                   hn::AllTrue(d, hn::Eq(odd, hn::Zero(d)))};
  for (; i < n; ++i) {
    range.min = values[i] < range.min ? values[i] : range.min;
    range.max = values[i] > range.max ? values[i] : range.max;
    range.finite = range.finite && values[i] - values[i] == 0.0f;
  }
  return range;
}

BlockBeyond values_beyond(const float* values, std::size_t n, float low, float high, float bottom, float top,
                          float* beyond) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto from = hn::Set(d, low), to = hn::Set(d, high), least = hn::Set(d, bottom), most = hn::Set(d, top);
  BlockBeyond found;
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto v = hn::LoadU(d, values + i);
    const auto between = hn::And(hn::Gt(v, from), hn::Lt(v, to));
    const auto at_bottom = hn::Eq(v, least), at_top = hn::Eq(v, most);
    const auto kept = hn::Not(hn::Or(between, hn::Or(at_bottom, at_top)));
    hn::StoreU(hn::Compress(v, kept), d, beyond + found.kept);  // all lanes: those behind are overwritten
    found.kept += hn::CountTrue(d, kept);
    found.at_bottom += hn::CountTrue(d, at_bottom);
    found.at_top += hn::CountTrue(d, at_top);
  }
  for (; i < n; ++i) {
    const float value = values[i];
    const bool at_bottom = value == bottom, at_top = value == top;
    beyond[found.kept] = value;
    found.kept += (value > low && value < high) || at_bottom || at_top ? 0 : 1;
    found.at_bottom += at_bottom ? 1 : 0;
    found.at_top += at_top ? 1 : 0;
  }
  return found;
}

}  // namespace HWY_NAMESPACE
}  // namespace vernier
HWY_AFTER_NAMESPACE();

#endif  // VERNIER_NUMERICS_METRICS_SIMD_INL_H_
