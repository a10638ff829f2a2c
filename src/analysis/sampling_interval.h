// How far a figure over few samples may be from the same figure over many.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "analysis/requirement.h"
#include "vernier/report/figures.h"

namespace vernier {

/// Fewer samples say too little of how samples differ.
inline constexpr std::size_t kFewestForInterval = 8;
/// Fewer samples decide no requirement on others: the lower end would ask for any width.
inline constexpr std::size_t kFewestToClaim = 10;

/// Of the pooled signal-to-noise ratio of n samples, R = 10 log10(S / N) with S and N the sums of s[i] and n[i], in dB:
/// the bootstrap-t. Each of 1,000 draws of n samples, with replacement, from a fixed seed, gives t = (R* - R) / e*,
/// where
///   e = 10 / ln 10 sqrt(n / (n - 1) sum of (s[i] / S - n[i] / N)^2)
/// is the standard error of R, and e* that of the draw, but half of e at least: a draw that misses the one bad sample
/// would ask for any width. With t[q] the q quantile of these, R exceeds
/// R - t[c] e with a confidence of c. Where one sample has most of the noise, a third of the draws miss it, and that
/// end may lie 30 dB down. It is never below both that of a log-normal noise and
///   R - 10 log10(1 + (m - 1) max n[i] / N):
/// samples like the worst are at most m times as frequent as here, where exp(-m) (1 + m) = 1 - max(c, 0.975). Samples
/// are taken to be drawn independently of each other; what all of them lack it cannot know. Of skewed errors the
/// percentile bootstrap holds the truth less often: a few samples have most of the noise, and most draws miss them.
/// Source: B. Efron and R. Tibshirani, "An Introduction to the Bootstrap" (1993), 12.5; F. Garwood, "Fiducial limits
/// for the Poisson distribution", Biometrika 28 (1936).
class SqnrSpread {
 public:
  /// nullopt with fewer than 8 samples, and where a ratio is not finite in any draw. Cost: O(1,000 n).
  static std::optional<SqnrSpread> of(std::span<const SampleSums> samples);
  /// From R - t[0.975] e, or those limits, to R - t[0.025] e. Where the noise of samples differs by powers of ten, most
  /// draws lack what others will have. The lower end is that of a log-normal noise, then, if lower: with x[i] = ln
  /// n[i], m their median and v = 2 / (n - 2) times the sum of (x[i] - m)^2 over x[i] > m,
  ///   10 log10(S / n) - 10 / ln 10 (m + v / 2 + 1.96 sqrt(v / n + v^2 / (2 (n - 1)))).
  /// That end is -6.02 dB at least: an output as large as the reference has no more noise, whatever samples come.
  /// Source: D. R. Cox's interval, in C. E. Land, "An evaluation of approximate confidence interval estimation methods
  /// for lognormal means", Technometrics 14 (1972); v of the upper half alone, as samples without noise widen nothing.
  SamplingInterval interval() const;
  /// R - t[c] e, or those limits, c from 0.5 to below 1. nullopt with fewer than 10 samples.
  std::optional<double> above(double confidence) const;

 private:
  double low(double confidence, std::size_t draws) const;

  std::size_t samples_ = 0;
  double db_ = 0, error_ = 0;
  double log_normal_low_ = 0;      // lower end of log-normal noise
  double worst_share_ = 0;         // of the noise, in one sample
  std::vector<double> distances_;  // t, ascending
};

/// Of the share of rows that agree: the percentile bootstrap, from 2.5 to 97.5 % of such draws. nullopt without rows.
/// Where every sample has one row, and where all rows agree or none, which no draw would tell: as share_interval().
std::optional<SamplingInterval> agreement_interval(std::span<const SampleSums> samples);
/// What that share exceeds with a confidence of c: the 1 - c quantile of those draws, or the lower end of a one-sided
/// share_interval().
std::optional<double> agreement_above(std::span<const SampleSums> samples, double confidence);

/// Of a share `p` of `n` samples that are right, Wilson's score interval; z = 1.96 for 95 % between both ends:
///   (p + z^2 / 2n -+ z sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2 / n)
/// Source: E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927).
SamplingInterval share_interval(double p, std::size_t n, double z = 1.96);
/// The lower end of it that the share exceeds with a confidence of c: z is the c quantile of the normal distribution.
double share_above(double p, std::size_t n, double confidence);

}  // namespace vernier
