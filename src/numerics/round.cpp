#include "numerics/round.h"

#include <fmt/format.h>

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "numerics/grid.h"
#include "numerics/round_simd.h"
#include "vernier/error.h"

namespace vernier {
namespace {

/// float32 has no grid to round to: a copy, and of the events only those that exact values can show.
void copy_float32(std::span<const float> values, std::span<float> out, RoundEvents* events) {
  if (out.data() != values.data()) std::copy(values.begin(), values.end(), out.begin());
  if (!events) return;
  for (const float value : values) {
    events->nan += std::isnan(value);
    events->subnormal += value != 0.0f && std::abs(value) < FLT_MIN;
  }
}

void round_checked(const QuantParams& params, std::int64_t channels, std::int64_t inner, std::span<const float> values,
                   std::span<float> out, RoundEvents* events) {
  if (values.size() != out.size()) {
    throw Error(ErrorKind::Internal, fmt::format("{} values to round into space for {}", values.size(), out.size()));
  }
  const GridLayout layout = checked_layout(params, channels, inner, values.size());
  if (events) events->count += static_cast<std::int64_t>(values.size());
  if (params.format == Format::Float32) return copy_float32(values, out, events);
  RoundEvents ignored;
  run_round_job(make_job(params, layout, values, out), events ? RoundOutput::Counted : RoundOutput::Values,
                events ? *events : ignored);
}

}  // namespace

RoundEvents& RoundEvents::operator+=(const RoundEvents& other) {
  count += other.count;
  saturated += other.saturated;
  overflowed += other.overflowed;
  subnormal += other.subnormal;
  flushed += other.flushed;
  nan += other.nan;
  return *this;
}

void round_to(const QuantParams& params, std::span<const float> values, std::span<float> out) {
  round_checked(params, 1, static_cast<std::int64_t>(values.size()), values, out, nullptr);
}

void round_to(const QuantParams& params, std::int64_t channels, std::int64_t inner, std::span<const float> values,
              std::span<float> out) {
  round_checked(params, channels, inner, values, out, nullptr);
}

void round_to_counting(const QuantParams& params, std::int64_t channels, std::int64_t inner,
                       std::span<const float> values, std::span<float> out, RoundEvents& events) {
  round_checked(params, channels, inner, values, out, &events);
}

}  // namespace vernier
