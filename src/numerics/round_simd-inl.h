// Rounding kernels, compiled once for each instruction set. Every step is an IEEE operation that rounds once, in the
// same order everywhere, so all targets agree bit for bit; conversion instructions (F16C and friends) are left out
// because their NaN bits and emulations differ, and the arithmetic below already runs at the speed of memory.

#if defined(VERNIER_NUMERICS_ROUND_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VERNIER_NUMERICS_ROUND_SIMD_INL_H_
#undef VERNIER_NUMERICS_ROUND_SIMD_INL_H_
#else
#define VERNIER_NUMERICS_ROUND_SIMD_INL_H_
#endif

#include <cstdint>
#include <cstring>

#include "hwy/highway.h"
#include "numerics/round_simd.h"
#include "vernier/format.h"

HWY_BEFORE_NAMESPACE();
namespace vernier {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr float power_of_two(int exponent) {
  float power = 1.0f;
  for (; exponent > 0; --exponent) power *= 2.0f;
  for (; exponent < 0; ++exponent) power *= 0.5f;
  return power;
}

/// Gives `magnitude` the sign of v, or where v is NaN the canonical quiet NaN with the sign of v. Payloads do not
/// survive a narrow format, and which one an addition keeps depends on the machine.
template <class D, class V>
HWY_INLINE V with_sign_or_nan(D d, V magnitude, V v) {
  const hn::RebindToUnsigned<D> du;
  const V quiet_nan = hn::BitCast(d, hn::Set(du, 0x7FC00000u));
  return hn::CopySignToAbs(hn::IfThenElse(hn::IsNaN(v), quiet_nan, magnitude), v);
}

/// Rounds |v| to Grid's mantissa, ties to even, after clipping it to `top`. Adding M = 2^(e + 23 - m), where e is the
/// exponent of |v| or that of the smallest normal value, pushes the bits below the last mantissa bit out of a float32,
/// whose own rounding then is the one we want; M itself is even, so ties go the same way. Both steps after are exact.
template <const FloatGrid& kGrid, class D, class V>
HWY_INLINE V round_magnitude(D d, V v, float top) {
  const hn::RebindToUnsigned<D> du;
  const V a = hn::Min(hn::Abs(v), hn::Set(d, top));
  const V power =
      hn::Max(hn::And(a, hn::BitCast(d, hn::Set(du, 0x7F800000u))), hn::Set(d, power_of_two(kGrid.min_exponent)));
  const V magic = hn::Mul(power, hn::Set(d, power_of_two(23 - kGrid.mantissa_bits)));
  return hn::Sub(hn::Add(a, magic), magic);
}

/// Nearest integer, ties to even, never -0. Right for |v| <= 2^21, far more than any code.
template <class D, class V>
HWY_INLINE V nearest_integer(D d, V v) {
  const V magic = hn::Set(d, 0x1.8p23f);
  return hn::Sub(hn::Add(v, magic), magic);
}

// Each grid says how a value (already divided by the scale) rounds, and when it was clipped. low and high are the
// smallest and largest step of the integer grids; the float grids ignore them.

struct Float16Grid {
  static constexpr bool kScaled = false;
  static constexpr float kMinNormal = 0x1p-14f;
  template <class D, class V>
  static HWY_INLINE V round(D d, V v, V, V) {
    // 65536 is the first power of two past the format: whatever reaches it is infinite.
    const V first_infinite = hn::Set(d, 65536.0f);
    const V r = round_magnitude<kFloat16>(d, v, 65536.0f);
    const V infinity = hn::BitCast(d, hn::Set(hn::RebindToUnsigned<D>(), 0x7F800000u));
    return with_sign_or_nan(d, hn::IfThenElse(hn::Ge(r, first_infinite), infinity, r), v);
  }
};

struct BFloat16Grid {
  static constexpr bool kScaled = false;
  static constexpr float kMinNormal = 0x1p-126f;
  template <class D, class V>
  static HWY_INLINE V round(D d, V v, V, V) {
    // The upper half of a float32: adding just under half a step carries into it, through the exponent up to infinity.
    const hn::RebindToUnsigned<D> du;
    const auto bits = hn::BitCast(du, v);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1u));
    const auto carried = hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7FFFu)));
    const V r = hn::BitCast(d, hn::And(carried, hn::Set(du, 0xFFFF0000u)));
    return with_sign_or_nan(d, hn::Abs(r), v);
  }
};

template <const FloatGrid& kGrid>
struct ScaledFloatGrid {
  static constexpr bool kScaled = true;
  static constexpr float kMinNormal = power_of_two(kGrid.min_exponent);
  template <class D, class V>
  static HWY_INLINE V round(D d, V v, V, V) {
    return with_sign_or_nan(d, round_magnitude<kGrid>(d, v, kGrid.max_finite), v);
  }
  template <class D, class V>
  static HWY_INLINE auto clipped(D d, V v, V, V) {
    const V limit = hn::Set(d, kGrid.limit);
    if constexpr (kGrid.tie_stays) {
      return hn::Gt(hn::Abs(v), limit);
    } else {
      return hn::Ge(hn::Abs(v), limit);
    }
  }
};

struct IntegerGrid {
  static constexpr bool kScaled = true;
  static constexpr float kMinNormal = 0.0f;  // nothing is subnormal
  template <class D, class V>
  static HWY_INLINE V round(D d, V v, V low, V high) {
    // NaN goes first: what Min and Max make of it differs between machines. Clipping before rounding to stay in the
    // range of the magic number changes nothing, since the ends are integers.
    const V number = hn::IfThenZeroElse(hn::IsNaN(v), v);
    return nearest_integer(d, hn::Min(hn::Max(number, low), high));
  }
  template <class D, class V>
  static HWY_INLINE auto clipped(D d, V v, V low, V high) {
    const V two = hn::Set(d, 2.0f);
    const V number = hn::IfThenZeroElse(hn::IsNaN(v), v);
    const V near = nearest_integer(d, hn::Min(hn::Max(number, hn::Sub(low, two)), hn::Add(high, two)));
    return hn::Or(hn::Lt(near, low), hn::Gt(near, high));
  }
};

/// False where a vector surely holds no event: every value is zero, or stays between the smallest normal value and
/// infinity. Tests are cheaper than counts, and in float formats most vectors end here.
template <class Grid, class D, class V>
HWY_INLINE bool may_have_events(D d, V x, V v, V q, V low, V high) {
  if constexpr (Grid::kMinNormal == 0.0f) return true;
  const V size = hn::Abs(q);
  auto plain = hn::And(hn::Ge(size, hn::Set(d, Grid::kMinNormal)), hn::IsFinite(q));
  if constexpr (Grid::kScaled) {
    plain = hn::AndNot(Grid::clipped(d, v, low, high), plain);
  } else {
    (void)v, (void)low, (void)high;
  }
  return !hn::AllTrue(d, hn::Or(plain, hn::Eq(x, hn::Zero(d))));
}

template <class Grid, class D, class V>
HWY_INLINE void count_events(D d, V x, V v, V q, V y, V low, V high, RoundEvents& events) {
  const auto count = [d](auto mask) HWY_ATTR { return static_cast<std::int64_t>(hn::CountTrue(d, mask)); };
  const V zero = hn::Zero(d);
  const auto number = hn::Eq(x, x);
  const auto finite = hn::IsFinite(x);
  if constexpr (Grid::kScaled) {
    events.saturated += count(hn::And(finite, Grid::clipped(d, v, low, high)));
  } else {
    (void)v, (void)low, (void)high;
    events.overflowed += count(hn::AndNot(hn::IsFinite(y), finite));
  }
  if constexpr (Grid::kMinNormal > 0.0f) {
    const V size = hn::Abs(q);
    events.subnormal += count(hn::And(hn::Gt(size, zero), hn::Lt(size, hn::Set(d, Grid::kMinNormal))));
  }
  events.flushed += count(hn::And(hn::AndNot(hn::Eq(x, zero), number), hn::Eq(y, zero)));
  events.nan += count(hn::IsNaN(x));
}

template <class Grid, RoundOutput kOutput, class D, class V>
HWY_INLINE V round_vector(D d, V x, V scale, V low, V high, RoundEvents& events) {
  V v = x;
  if constexpr (Grid::kScaled) v = hn::Div(x, scale);
  const V q = Grid::round(d, v, low, high);
  V y = q;
  if constexpr (Grid::kScaled && kOutput != RoundOutput::Steps) y = hn::Mul(q, scale);
  if constexpr (kOutput == RoundOutput::Counted) {
    if (may_have_events<Grid>(d, x, v, q, low, high)) count_events<Grid>(d, x, v, q, y, low, high, events);
  }
  return y;
}

/// Rounds `n` values that share one scale. The last few go through a buffer filled up with zeros, which count as
/// nothing.
template <class Grid, RoundOutput kOutput>
HWY_INLINE void round_row(const float* in, float* out, std::size_t n, float scale, float low, float high,
                          RoundEvents& events) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const std::size_t lanes = hn::Lanes(d);
  const V scales = hn::Set(d, scale);
  const V lows = hn::Set(d, low);
  const V highs = hn::Set(d, high);
  RoundEvents seen;
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(round_vector<Grid, kOutput>(d, hn::LoadU(d, in + i), scales, lows, highs, seen), d, out + i);
  }
  if (i < n) {
    HWY_ALIGN float rest[hn::MaxLanes(d)] = {};
    std::memcpy(rest, in + i, (n - i) * sizeof(float));
    hn::Store(round_vector<Grid, kOutput>(d, hn::Load(d, rest), scales, lows, highs, seen), d, rest);
    std::memcpy(out + i, rest, (n - i) * sizeof(float));
  }
  if constexpr (kOutput == RoundOutput::Counted) events += seen;
}

/// Rounds one row of neighbours that each have a scale of their own: the channels are the innermost dimension.
template <class Grid, RoundOutput kOutput>
HWY_INLINE void round_channels(const RoundJob& job, const float* in, float* out, RoundEvents& events) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  using V = hn::Vec<decltype(d)>;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t n = job.layout.channels;
  const V lowest = hn::Set(d, job.lowest);
  const V highest = hn::Set(d, job.highest);
  const auto round = [&](V x, V scale, V zero) HWY_ATTR {
    return round_vector<Grid, kOutput>(d, x, scale, hn::Sub(lowest, zero), hn::Sub(highest, zero), events);
  };
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const V zero = job.zero_point ? hn::ConvertTo(d, hn::LoadU(di, job.zero_point + i)) : hn::Zero(d);
    hn::StoreU(round(hn::LoadU(d, in + i), hn::LoadU(d, job.scale + i), zero), d, out + i);
  }
  if (i < n) {
    const std::size_t bytes = (n - i) * sizeof(float);
    HWY_ALIGN float rest[hn::MaxLanes(d)] = {};
    HWY_ALIGN float scale[hn::MaxLanes(d)];
    HWY_ALIGN std::int32_t zero[hn::MaxLanes(d)] = {};
    hn::Store(hn::Set(d, 1.0f), d, scale);
    std::memcpy(rest, in + i, bytes);
    std::memcpy(scale, job.scale + i, bytes);
    if (job.zero_point) std::memcpy(zero, job.zero_point + i, bytes);
    hn::Store(round(hn::Load(d, rest), hn::Load(d, scale), hn::ConvertTo(d, hn::Load(di, zero))), d, rest);
    std::memcpy(out + i, rest, bytes);
  }
}

template <class Grid, RoundOutput kOutput>
void round_tensor(const RoundJob& job, RoundEvents& events) {
  const GridLayout& shape = job.layout;
  const float* in = job.values;
  float* out = job.out;
  for (std::size_t o = 0; o < shape.outer; ++o) {
    if (shape.inner == 1 && shape.channels > 1) {
      round_channels<Grid, kOutput>(job, in, out, events);
      in += shape.channels;
      out += shape.channels;
      continue;
    }
    for (std::size_t c = 0; c < shape.channels; ++c, in += shape.inner, out += shape.inner) {
      const float zero = job.zero_point ? static_cast<float>(job.zero_point[c]) : 0.0f;
      const float scale = Grid::kScaled ? job.scale[c] : 1.0f;
      round_row<Grid, kOutput>(in, out, shape.inner, scale, job.lowest - zero, job.highest - zero, events);
    }
  }
}

template <RoundOutput kOutput>
void round_format(const RoundJob& job, RoundEvents& events) {
  switch (job.format) {
    case Format::Float32:
      return;
    case Format::Float16:
      return round_tensor<Float16Grid, kOutput>(job, events);
    case Format::BFloat16:
      return round_tensor<BFloat16Grid, kOutput>(job, events);
    case Format::Float8E4M3FN:
    case Format::MxFp8:
      return round_tensor<ScaledFloatGrid<kFloat8E4M3FN>, kOutput>(job, events);
    case Format::Float8E5M2:
    case Format::MxFp8E5M2:
      return round_tensor<ScaledFloatGrid<kFloat8E5M2>, kOutput>(job, events);
    case Format::NvFp4:
    case Format::MxFp4:
      return round_tensor<ScaledFloatGrid<kFloat4E2M1>, kOutput>(job, events);
    case Format::Int8:
    case Format::UInt8:
    case Format::Int4:
    case Format::UInt4:
    case Format::Int16:
    case Format::UInt16:
    case Format::DynamicInt8:
      return round_tensor<IntegerGrid, kOutput>(job, events);
  }
}

void round_job(const RoundJob& job, RoundOutput output, RoundEvents& events) {
  switch (output) {
    case RoundOutput::Values:
      return round_format<RoundOutput::Values>(job, events);
    case RoundOutput::Steps:
      return round_format<RoundOutput::Steps>(job, events);
    case RoundOutput::Counted:
      return round_format<RoundOutput::Counted>(job, events);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace vernier
HWY_AFTER_NAMESPACE();

#endif  // VERNIER_NUMERICS_ROUND_SIMD_INL_H_
