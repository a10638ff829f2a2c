// How far a figure over few samples may be from the same figure over many.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "analysis/requirement.h"
#include "vernier/report/figures.h"

namespace vernier {

/// Fewer samples say too little of how samples differ.
inline constexpr std::size_t kFewestForInterval = 8;
/// Fewer samples decide no requirement on others: the lower end would ask for any width.
inline constexpr std::size_t kFewestToClaim = 10;

/// Of the pooled signal-to-noise ratio of n samples, R = 10 log10(S / N) in dB, with S and N the sums of s[i] and n[i].
/// What is claimed is the ratio over as many new samples. It exceeds, with a confidence of c, the lower of
///   R - t sqrt(2) e, with e = 10 / ln 10 sqrt(n / (n - 1) sum of (n[i] / N - s[i] / S)^2)
///   R - 10 log10(1 + (m - 1) p), with p = the largest n[i] / N - s[i] / S
/// where t is the c quantile of Student's distribution with n - 1 degrees of freedom, e the standard error of R, and
/// m = most_new_events(1 - (1 - c) / 5): new samples may hold m times as many like the worst. The new ones have an
/// error of their own, as large as e: hence the root of 2. The second one is for noise that few samples hold: there e
/// alone exceeds the truth in up to every third set. The fifth makes up for samples worse than the worst, which such
/// sets have not seen. docs/records/claims.md compares it with other rules.
/// Samples are taken to be drawn independently of each other; what all of them lack no rule can know.
/// Source: W. Nelson (most_new_events()); e by the delta method, as in B. Efron and R. Tibshirani, "An Introduction to
/// the Bootstrap" (1993), 5 and 12; the root as in W. Q. Meeker, G. J. Hahn and L. A. Escobar, "Statistical Intervals"
/// (2017), 4.
class SqnrSpread {
 public:
  /// nullopt with fewer than 8 samples, and where the ratio is not finite. Cost: O(n log n).
  static std::optional<SqnrSpread> of(std::span<const SampleSums> samples);
  /// From what is exceeded with 97.5 % to R + t sqrt(2) e. Where the noise of samples differs by powers of ten, these
  /// samples lack what others will have: the lower end is that of a log-normal noise, if lower. With x[i] = ln n[i], m
  /// their median and v = 2 / (n - 2) times the sum of (x[i] - m)^2 over x[i] > m, that is
  ///   10 log10(S / n) - 10 / ln 10 (m + v / 2 + 1.96 sqrt(v / n + v^2 / (2 (n - 1)))).
  /// That end is -6.02 dB at least: an output as large as the reference has no more noise, whatever samples come.
  /// Source: D. R. Cox's interval, in C. E. Land, "An evaluation of approximate confidence interval estimation methods
  /// for lognormal means", Technometrics 14 (1972); v of the upper half alone, as samples without noise widen nothing.
  SamplingInterval interval() const;
  /// What as many new samples exceed with a confidence of c, from 0.5 to below 1. nullopt with fewer than 10 samples.
  std::optional<double> above(double confidence) const;

 private:
  double exceeded(double confidence) const;
  double by_error(double confidence) const;

  std::size_t samples_ = 0;
  double db_ = 0, error_ = 0;
  double log_normal_low_ = 0;  // lower end of log-normal noise
  double worst_pull_ = 0;      // p
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
