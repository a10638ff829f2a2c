// Equal bits on every machine: fingerprints of results, which an x86 CPU and an ARM64 one have to share. Every
// instruction set of this machine is held to them, the scalar code included; the other tests say that they are right.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <ostream>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "numerics/tensor_cores.h"
#include "oracle.h"
#include "vernier/format.h"

namespace vernier::test {
namespace {

/// FNV-1a over the bits of what is added.
class Fingerprint {
 public:
  void add(std::uint64_t bits) {
    for (int shift = 0; shift < 64; shift += 8) hash_ = (hash_ ^ (bits >> shift & 0xFF)) * 0x100000001B3u;
  }
  void add(double value) { add(std::bit_cast<std::uint64_t>(value)); }
  void add(std::span<const float> values) {
    for (const float value : values) add(std::uint64_t{bits_of_float(value)});
  }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xCBF29CE484222325u;
};

constexpr std::int64_t kBroadChannels = 3;
constexpr std::int64_t kBroadInner = 33;
constexpr std::size_t kSlice = kBroadChannels * kBroadInner;

/// Of both signs: every exponent of a float32 with the ties of every mantissa and their neighbours, zeros, infinities
/// and NaN payloads among them; the ties of integers; random bits. [outer, 3, 33].
std::vector<float> broad_values() {
  std::vector<std::uint32_t> mantissas = {0, 1, 0x7FFFFF};
  for (const int dropped : {13, 16, 20, 21}) {  // bits of a float32's mantissa that float16, bfloat16, E4M3, E5M2 lack
    const std::uint32_t tie = 1u << (dropped - 1);
    for (const std::uint32_t at : {tie, 3 * tie}) mantissas.insert(mantissas.end(), {at - 1, at, at + 1});
  }
  std::vector<float> values;
  for (std::uint32_t exponent = 0; exponent < 256; ++exponent) {
    for (const std::uint32_t mantissa : mantissas) values.push_back(float_of_bits(exponent << 23 | mantissa));
  }
  for (int i = 1; i < 600; ++i) values.push_back(0.5f * static_cast<float>(i));
  const std::size_t positive = values.size();
  for (std::size_t i = 0; i < positive; ++i) values.push_back(-values[i]);
  std::mt19937_64 random(1);
  const std::vector<float> any = random_bits(random, 4000);
  values.insert(values.end(), any.begin(), any.end());
  values.resize(values.size() / kSlice * kSlice);
  return values;
}

/// Per tensor and per axis, from scales below the normal numbers to those near the largest.
std::vector<QuantParams> broad_params(Format format) {
  if (!needs_scale(format)) return {params_of(format)};
  std::vector<QuantParams> all;
  for (const float scale : {1.0f, 0.1f, 1e-42f, 1e-38f, 3e38f}) all.push_back(params_of(format, scale));
  QuantParams channels = params_of(format);
  channels.axis = 1;
  channels.scale = {0.013f, 0.25f, 7.7f};
  all.push_back(channels);
  if (format == Format::Int8 || format == Format::UInt8 || format == Format::Int4) {
    channels.zero_point = {0, 3, 7};
    channels.lowest_code = format == Format::UInt8 ? 0 : -7;
    all.push_back(channels);
  }
  return all;
}

struct Fingerprints {
  Format format;
  std::uint64_t values;
  std::uint64_t events;
  std::uint64_t errors;
  bool operator==(const Fingerprints&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Fingerprints& row) {
  return out << format_name(row.format) << std::hex << " 0x" << row.values << " 0x" << row.events << " 0x"
             << row.errors;
}

void add_error_sums(std::span<const float> ref, std::span<const float> got, Fingerprint& fingerprint) {
  ErrorStats errors;
  accumulate_error(ref, got, errors);
  for (const std::int64_t count :
       {errors.count, errors.ref_nonfinite, errors.same_infinity, errors.got_nan, errors.got_inf}) {
    fingerprint.add(static_cast<std::uint64_t>(count));
  }
  for (const double sum : {errors.ref_energy, errors.got_energy, errors.dot, errors.error_energy, errors.error_sum,
                           errors.max_abs_error, errors.max_abs_ref}) {
    fingerprint.add(sum);
  }
}

/// Rounded as [outer, 3, 33] and, the channels last, as [outer, 3, 1].
Fingerprints fingerprints(Format format, const std::vector<float>& values) {
  Fingerprint rounded;
  Fingerprint counted;
  Fingerprint summed;
  std::vector<float> out(values.size());
  for (const QuantParams& params : broad_params(format)) {
    for (const std::int64_t inner : {kBroadInner, std::int64_t{1}}) {
      RoundEvents events;
      round_to_counting(params, kBroadChannels, inner, values, out, events);
      rounded.add(out);
      for (const std::int64_t count :
           {events.count, events.saturated, events.overflowed, events.subnormal, events.flushed, events.nan}) {
        counted.add(static_cast<std::uint64_t>(count));
      }
      add_error_sums(values, out, summed);
      // Of slices, too, whose values are of like size: in the sums of all, small ones are lost.
      const std::span<const float> all = values;
      for (std::size_t i = 0; i < all.size(); i += kSlice) {
        add_error_sums(all.subspan(i, kSlice), std::span(out).subspan(i, kSlice), summed);
      }
    }
  }
  return {format, rounded.value(), counted.value(), summed.value()};
}

TEST(SameBits, OfRoundedValuesEventsAndErrorSums) {
  const Fingerprints rows[] = {
      {Format::Float16, 0x1E4A528530C53505, 0x3929C589D6514EC5, 0xC98DB971441FE8E9},
      {Format::BFloat16, 0x98B08810E569BA95, 0x24AB10E5AC6B9CB9, 0xDC72749767980311},
      {Format::Float8E4M3FN, 0x46B3C4A9EF1A9AA4, 0xCAA17C0A4EB6D665, 0xECF9DB51175939B0},
      {Format::Float8E5M2, 0x63BCBCA0E8EED9A1, 0xEB220E51F93030F3, 0x3D88CB321F9CE9BB},
      {Format::Int8, 0x30B212B38AF40132, 0xB6B2832B3BB7ECC9, 0x78125A5A88407B7A},
      {Format::UInt8, 0xC974DA8BBE624676, 0xD3945F5CAD72BE68, 0x2F017E0C28EDF537},
      {Format::Int4, 0x314C5B037034C232, 0xA93C6A88342E11A4, 0xDA0B636C3A185D2C},
  };
  const std::vector<float> values = broad_values();
  for (const std::string_view target : dispatch_targets()) {
    const OnTarget limit(target);
    for (const Fingerprints& row : rows) EXPECT_EQ(fingerprints(row.format, values), row) << target;
  }
}

TEST(SameBits, OfTensorCores) {
  const std::vector<float> values = broad_values();
  std::vector<float> out(values.size());
  for (const std::string_view target : dispatch_targets()) {
    const OnTarget limit(target);
    Fingerprint fingerprint;
    round_to_tf32(values, out);
    fingerprint.add(out);
    add_sum_noise(kBroadChannels, kBroadInner, 9, 1, values, out);
    fingerprint.add(out);
    EXPECT_EQ(fingerprint.value(), 0xC7DEBF945391015Au) << std::hex << fingerprint.value() << " " << target;
  }
}

}  // namespace
}  // namespace vernier::test
