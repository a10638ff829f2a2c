// When a trial may end before its last sample because its failure is nearly certain. Samples of a known kind vary less
// than samples at random: each is paired with what it contributed when everything was low.
#pragma once

#include <cstddef>
#include <vector>

namespace vernier {

/// Says when the sum over all samples surely passes 1, at a stated confidence, from the samples seen so far.
///
/// The first `chosen` samples count as they are; the rest must come in random order. Of those, with c_i what sample i
/// contributes now and b_i what it is paired with:
///
///   r = sum c_i / sum b_i of the n seen (the ratio estimator)
///   sum of all ~ chosen part + r * sum b of the rest, with the standard error
///   q M sqrt((1 - n/M) / n * sum (c_i - r b_i)^2 / (n - 1))
///   M: size of the rest, q: mean b of the rest over that of the n seen
///
/// It fails when the estimate less t standard errors is above 1, t the quantile of Student's distribution with n-1
/// degrees of freedom. Asked at n = 8, 16, 32 ...: the error allowed is shared by these looks (Bonferroni), so the
/// confidence holds for the whole trial. It never says that a trial passes.
/// Edges: pairs that are not finite or all zero: all count as equal. Fewer than 9 samples behind the chosen: never.
/// Assumes: that the mean of 8 paired differences is nearly normal. A few samples that outweigh the others break that:
/// choose those, the hardest by what they are paired with.
/// Source: W. G. Cochran, Sampling Techniques, 3rd ed. (1977), 6.4, 2.8.
class EarlyFailure {
 public:
  /// `paired`: in the order in which samples will come, >= 0. `confidence` in (0, 1): of one trial.
  EarlyFailure(std::vector<double> paired, std::size_t chosen, double confidence);

  /// The next sample's contribution, >= 0. True when the trial fails with the confidence asked.
  bool add(double contribution);

 private:
  std::vector<double> paired_;
  std::size_t chosen_ = 0;
  double quantile_at_ = 1;  // 1 - the error of one look
  double paired_rest_ = 0;
  double chosen_sum_ = 0;
  std::vector<double> drawn_;
  std::size_t seen_ = 0;
  std::size_t next_look_ = 8;
};

}  // namespace vernier
