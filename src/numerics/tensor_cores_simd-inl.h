// Kernels of tensor_cores.h, compiled once for each instruction set. As in metrics_simd-inl.h sums run in a fixed
// number of virtual lanes, and every other step is an operation on integers or one that rounds once: all targets agree
// bit for bit.

#if defined(VERNIER_NUMERICS_TENSOR_CORES_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VERNIER_NUMERICS_TENSOR_CORES_SIMD_INL_H_
#undef VERNIER_NUMERICS_TENSOR_CORES_SIMD_INL_H_
#else
#define VERNIER_NUMERICS_TENSOR_CORES_SIMD_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "hwy/highway.h"
#include "numerics/tensor_cores_simd.h"

HWY_BEFORE_NAMESPACE();
namespace vernier {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kSumLanes = 16;

/// Rows of `n` values a vector at a time; the last few go through a buffer filled up with zeros.
template <class Body>
HWY_INLINE void each_vector(const float* in, float* out, std::size_t n, const Body& body) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(body(hn::LoadU(d, in + i), i), d, out + i);
  if (i < n) {
    HWY_ALIGN float rest[hn::MaxLanes(d)] = {};
    std::memcpy(rest, in + i, (n - i) * sizeof(float));
    hn::Store(body(hn::Load(d, rest), i), d, rest);
    std::memcpy(out + i, rest, (n - i) * sizeof(float));
  }
}

/// The power of two in |v|, 2^-14 to 2^15; of NaN and infinities the largest.
template <class D, class V>
HWY_INLINE V float16_power(D d, V v) {
  const hn::RebindToUnsigned<D> du;
  const auto exponent = hn::And(hn::BitCast(du, v), hn::Set(du, 0x7F800000u));
  return hn::BitCast(d, hn::Min(hn::Max(exponent, hn::Set(du, 0x38800000u)), hn::Set(du, 0x47000000u)));
}

double sum_squared_powers_of_row(const float* values, std::size_t n) {
  const hn::CappedTag<float, kSumLanes> d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t whole = n - n % kSumLanes;
  HWY_ALIGN float sums[kSumLanes];
  for (std::size_t first = 0; first < kSumLanes; first += lanes) {
    auto sum = hn::Zero(d);
    for (std::size_t i = first; i < whole; i += kSumLanes) {
      const auto power = float16_power(d, hn::LoadU(d, values + i));
      sum = hn::Add(sum, hn::Mul(power, power));
    }
    hn::Store(sum, d, sums + first);
  }
  const hn::CappedTag<float, 1> one;
  for (std::size_t i = whole; i < n; ++i) {
    const float power = hn::GetLane(float16_power(one, hn::Set(one, values[i])));
    sums[i - whole] += power * power;
  }
  double total = 0;
  for (const float sum : sums) total += static_cast<double>(sum);
  return total;
}

void add_noise_to_row(const float* values, float* out, std::size_t n, std::uint32_t seed, std::uint32_t first,
                      float amplitude) {
  const hn::ScalableTag<float> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const hn::RebindToSigned<decltype(d)> di;
  each_vector(values, out, n, [&](auto v, std::size_t i) HWY_ATTR {
    // The finalizer of MurmurHash3 (Austin Appleby, public domain), of the index on a Weyl sequence.
    auto h = hn::Iota(du, first + static_cast<std::uint32_t>(i));
    h = hn::Add(hn::Mul(h, hn::Set(du, 0x9E3779B1u)), hn::Set(du, seed));
    h = hn::Mul(hn::Xor(h, hn::ShiftRight<16>(h)), hn::Set(du, 0x85EBCA6Bu));
    h = hn::Mul(hn::Xor(h, hn::ShiftRight<13>(h)), hn::Set(du, 0xC2B2AE35u));
    h = hn::Xor(h, hn::ShiftRight<16>(h));
    const auto high = hn::BitCast(di, hn::ShiftRight<16>(h));
    const auto low = hn::BitCast(di, hn::And(h, hn::Set(du, 0xFFFFu)));
    const auto noise = hn::ConvertTo(d, hn::Sub(high, low));
    return hn::Add(v, hn::Mul(noise, hn::Set(d, amplitude)));
  });
}

void tf32_row(const float* values, float* out, std::size_t n) {
  const hn::ScalableTag<float> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  each_vector(values, out, n, [&](auto v, std::size_t) HWY_ATTR {
    // Adding just under half a step carries into the mantissa that stays, through the exponent up to infinity.
    const auto bits = hn::BitCast(du, v);
    const auto odd = hn::And(hn::ShiftRight<13>(bits), hn::Set(du, 1u));
    const auto carried = hn::Add(bits, hn::Add(odd, hn::Set(du, 0xFFFu)));
    const auto rounded = hn::BitCast(d, hn::And(carried, hn::Set(du, 0xFFFFE000u)));
    return hn::IfThenElse(hn::IsFinite(v), rounded, v);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace vernier
HWY_AFTER_NAMESPACE();

#endif  // VERNIER_NUMERICS_TENSOR_CORES_SIMD_INL_H_
