// How much less noise one candidate leaves than another on the same samples, and how sure that is.
#pragma once

#include <vector>

namespace vernier {

/// Error energies of a whole network: of each output, sample by sample.
using Noise = std::vector<std::vector<double>>;

struct Gain {
  double nats = 0;     // log(sum of the other's energies / sum of one's own), summed over outputs
  double scatter = 0;  // its standard error: how much of that hangs on single samples

  /// What is left of it with two standard errors less.
  double sure() const noexcept { return nats - 2 * scatter; }
};

/// The gain of `noise` over `other`, both of the same outputs and samples, one or more. Standard error: the jackknife,
///   sqrt((n - 1) / n sum (g_i - mean)^2),  g_i the gain without sample i;
/// where one sample holds most of the noise, what the others say differs and the error is as large as the gain. (A
/// linear form in the samples' energies does not see that: it takes the sum, which is that one sample, as known.)
/// An output that is exact in both, or finite in neither, counts nothing; one that only one of them makes exact or
/// finite is a gain (loss) of 1000 nats. One sample: scatter 1000. Cost: O(samples * outputs).
/// Source: B. Efron, C. Stein, "The jackknife estimate of variance", Annals of Statistics 9 (1981).
Gain gain_over(const Noise& other, const Noise& noise);

/// The same for the typical sample: the mean of log(other / own) over samples, whose noise is given as logarithms, and
/// the standard error of that mean. One sample: scatter 1000.
Gain typical_gain(const std::vector<double>& other, const std::vector<double>& log_noise);

}  // namespace vernier
