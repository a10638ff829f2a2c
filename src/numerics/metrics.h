// Error of a tested tensor against its reference, accumulated in one streaming pass so that no tensor is kept.
// Everything the tool reports about accuracy is a function of these sums.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>

namespace vernier {

/// Sums over pairs (ref, got). Sums are double; merging two is exact up to double rounding and independent of tensors.
/// Pairs where either value is not finite enter only the counts.
struct ErrorStats {
  std::int64_t count = 0;          // pairs seen
  std::int64_t ref_nonfinite = 0;  // ref is NaN or infinite
  std::int64_t same_infinity = 0;  // of those: got is the same infinity
  std::int64_t got_nan = 0;        // ref finite, got NaN
  std::int64_t got_inf = 0;        // ref finite, got infinite
  double ref_energy = 0;           // sum ref^2
  double got_energy = 0;           // sum got^2
  double dot = 0;                  // sum ref*got
  double error_energy = 0;         // sum (ref-got)^2
  double error_sum = 0;            // sum (got-ref)
  double max_abs_error = 0;        // max |ref-got|
  double max_abs_ref = 0;          // max |ref|
  bool operator==(const ErrorStats&) const = default;

  /// True when got is finite wherever ref is.
  bool finite() const noexcept { return got_nan == 0 && got_inf == 0; }
  /// Pairs that the sums are made of.
  std::int64_t finite_pairs() const noexcept { return count - ref_nonfinite - got_nan - got_inf; }
  /// True when something can be said: there is a finite pair, or all is equal without one (no pair, or infinities).
  bool comparable() const noexcept { return finite_pairs() > 0 || !finite() || ref_nonfinite == same_infinity; }
  ErrorStats& operator+=(const ErrorStats& other);
};

/// Folds ref [n] against got [n] into `stats`. One pass, no allocation; SIMD with run-time dispatch. The sums do not
/// depend on the instruction set: blocks of fixed size are summed in a fixed order. Errors: Internal when sizes differ.
void accumulate_error(std::span<const float> ref, std::span<const float> got, ErrorStats& stats);

/// 10*log10(sum ref^2 / sum (ref-got)^2), dB. +inf when equal, empty tensors and equal infinities too; -inf when got is
/// not finite where ref is, or when ref is all zero and got is not; NaN when nothing is comparable().
double sqnr_db(const ErrorStats& stats);
/// The power of two p, not 1, with got near p times ref, if dividing by p leaves at most 1/100 of the error energy.
std::optional<double> power_of_two_in(const ErrorStats& stats);
/// As if got had been divided by `factor`: the energies alone.
ErrorStats without_factor(ErrorStats stats, double factor);
/// sum (ref-got)^2 / sum ref^2, what sqnr_db() is the logarithm of. 0 when equal; +inf when got is not finite where ref
/// is, or when ref is all zero and got is not.
double noise_to_signal(const ErrorStats& stats);
/// Noise over signal in dB of signal over noise: -10 log10(ratio); +inf for 0 and below.
double db_of(double noise_ratio);
/// dot / (|ref| |got|) in [-1,1]; 1 when both are zero, 0 when one is; -1 when got is not finite where ref is. NaN when
/// nothing is comparable(), as for the two below.
double cosine(const ErrorStats& stats);
/// Mean of (ref-got)^2; +inf when got is not finite where ref is.
double mse(const ErrorStats& stats);
/// Largest |ref-got|; +inf when got is not finite where ref is.
double max_abs_error(const ErrorStats& stats);

/// Smallest and largest finite value, for calibration, and what had to be left out. -0 is read as +0.
struct RangeStats {
  float min = std::numeric_limits<float>::infinity();
  float max = -std::numeric_limits<float>::infinity();
  std::int64_t count = 0;
  std::int64_t nonfinite = 0;  // left out of min and max
  bool empty() const noexcept { return min > max; }
  float absmax() const noexcept;  // 0 when empty
  RangeStats& operator+=(const RangeStats& other);
  bool operator==(const RangeStats&) const = default;
};
void accumulate_range(std::span<const float> values, RangeStats& stats);

}  // namespace vernier
