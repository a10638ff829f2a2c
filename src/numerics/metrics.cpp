#include "numerics/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "numerics/metrics_simd.h"
#include "vernier/error.h"

namespace vernier {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Sums of a block that holds NaN or infinities: such pairs are counted and take part as (0, 0), which adds nothing.
ErrorStats sum_finite_pairs(const float* ref, const float* got, std::size_t n) {
  std::array<float, kErrorBlock> clean_ref;
  std::array<float, kErrorBlock> clean_got;
  ErrorStats counts;
  for (std::size_t i = 0; i < n; ++i) {
    const bool ref_finite = std::isfinite(ref[i]);
    const bool finite = ref_finite && std::isfinite(got[i]);
    counts.ref_nonfinite += !ref_finite;
    counts.same_infinity += !ref_finite && ref[i] == got[i];  // NaN is not equal to itself
    counts.got_nan += ref_finite && std::isnan(got[i]);
    counts.got_inf += ref_finite && std::isinf(got[i]);
    clean_ref[i] = finite ? ref[i] : 0.0f;
    clean_got[i] = finite ? got[i] : 0.0f;
  }
  counts += run_sum_block(clean_ref.data(), clean_got.data(), n);
  return counts;
}

ErrorStats sum_pairs(const float* ref, const float* got, std::size_t n) {
  const ErrorStats sums = run_sum_block(ref, got, n);
  return std::isfinite(sums.ref_energy + sums.got_energy) ? sums : sum_finite_pairs(ref, got, n);
}

constexpr std::size_t kRangeBlock = 4096;

void fold_range_with_nonfinite(std::span<const float> values, RangeStats& stats) {
  for (const float value : values) {
    if (std::isfinite(value)) {
      stats.min = std::min(stats.min, value + 0.0f);  // -0 counts as +0
      stats.max = std::max(stats.max, value + 0.0f);
    } else {
      ++stats.nonfinite;
    }
  }
}

}  // namespace

ErrorStats& ErrorStats::operator+=(const ErrorStats& other) {
  count += other.count;
  ref_nonfinite += other.ref_nonfinite;
  same_infinity += other.same_infinity;
  got_nan += other.got_nan;
  got_inf += other.got_inf;
  ref_energy += other.ref_energy;
  got_energy += other.got_energy;
  dot += other.dot;
  error_energy += other.error_energy;
  error_sum += other.error_sum;
  max_abs_error = std::max(max_abs_error, other.max_abs_error);
  max_abs_ref = std::max(max_abs_ref, other.max_abs_ref);
  return *this;
}

void accumulate_error(std::span<const float> ref, std::span<const float> got, ErrorStats& stats) {
  if (ref.size() != got.size()) {
    throw Error(ErrorKind::Internal, fmt::format("{} reference values against {}", ref.size(), got.size()));
  }
  const std::size_t whole = ref.size() / kErrorLanes * kErrorLanes;
  for (std::size_t i = 0; i < whole; i += kErrorBlock) {
    stats += sum_pairs(ref.data() + i, got.data() + i, std::min(kErrorBlock, whole - i));
  }
  if (whole < ref.size()) {
    std::array<float, kErrorLanes> last_ref{};
    std::array<float, kErrorLanes> last_got{};
    std::copy(ref.begin() + static_cast<std::ptrdiff_t>(whole), ref.end(), last_ref.begin());
    std::copy(got.begin() + static_cast<std::ptrdiff_t>(whole), got.end(), last_got.begin());
    stats += sum_pairs(last_ref.data(), last_got.data(), kErrorLanes);
  }
  stats.count += static_cast<std::int64_t>(ref.size());
}

double db_of(double noise_ratio) {
  return noise_ratio <= 0 ? std::numeric_limits<double>::infinity() : -10.0 * std::log10(noise_ratio);
}

ErrorStats without_factor(ErrorStats stats, double factor) {
  stats.got_energy /= factor * factor;
  stats.dot /= factor;
  stats.error_energy = std::max(0.0, stats.ref_energy - 2 * stats.dot + stats.got_energy);
  return stats;
}

std::optional<double> power_of_two_in(const ErrorStats& stats) {
  constexpr double kMostLeft = 0.01;
  if (!stats.finite() || !(stats.ref_energy > 0) || !(stats.dot > 0)) return std::nullopt;
  const double power = std::exp2(std::round(std::log2(stats.dot / stats.ref_energy)));
  if (power == 1 || without_factor(stats, power).error_energy > kMostLeft * stats.error_energy) return std::nullopt;
  return power;
}

double sqnr_db(const ErrorStats& stats) {
  if (!stats.finite()) return -kInfinity;
  if (!stats.comparable()) return kNaN;
  if (stats.error_energy == 0) return kInfinity;
  return 10.0 * std::log10(stats.ref_energy / stats.error_energy);
}

double noise_to_signal(const ErrorStats& stats) {
  if (!stats.finite()) return std::numeric_limits<double>::infinity();
  if (stats.ref_energy == 0) return stats.error_energy == 0 ? 0 : std::numeric_limits<double>::infinity();
  return stats.error_energy / stats.ref_energy;
}

double cosine(const ErrorStats& stats) {
  if (!stats.finite()) return -1.0;
  if (!stats.comparable()) return kNaN;
  if (stats.ref_energy == 0 || stats.got_energy == 0) return stats.ref_energy == stats.got_energy ? 1.0 : 0.0;
  return std::clamp(stats.dot / (std::sqrt(stats.ref_energy) * std::sqrt(stats.got_energy)), -1.0, 1.0);
}

double mse(const ErrorStats& stats) {
  if (!stats.finite()) return kInfinity;
  if (!stats.comparable()) return kNaN;
  return stats.error_energy / static_cast<double>(std::max<std::int64_t>(stats.finite_pairs(), 1));
}

double max_abs_error(const ErrorStats& stats) {
  if (!stats.finite()) return kInfinity;
  return stats.comparable() ? stats.max_abs_error : kNaN;
}

float RangeStats::absmax() const noexcept { return empty() ? 0.0f : std::max(std::abs(min), std::abs(max)); }

RangeStats& RangeStats::operator+=(const RangeStats& other) {
  min = std::min(min, other.min);
  max = std::max(max, other.max);
  count += other.count;
  nonfinite += other.nonfinite;
  return *this;
}

void accumulate_range(std::span<const float> values, RangeStats& stats) {
  for (std::size_t i = 0; i < values.size(); i += kRangeBlock) {
    const std::span<const float> block = values.subspan(i, std::min(kRangeBlock, values.size() - i));
    const BlockRange range = run_range_of_block(block.data(), block.size());
    if (range.finite) {
      stats.min = std::min(stats.min, range.min + 0.0f);  // -0 counts as +0
      stats.max = std::max(stats.max, range.max + 0.0f);
    } else {
      fold_range_with_nonfinite(block, stats);
    }
  }
  stats.count += static_cast<std::int64_t>(values.size());
}

}  // namespace vernier
