// Means over few samples, channel by channel, and what of them is more than chance.
#pragma once

#include <vector>

namespace vernier {

struct ChannelMeans {
  std::vector<double> mean;
  std::vector<double> variance;  // of each mean, the square of its standard error; empty: not known
};

/// The means drawn to zero by how uncertain they are:
///   m[c] t / (t + v[c]),  t = max(0, sum of (m[c]^2 - v[c]) / C)
/// with m[c] a mean, v[c] its variance and C channels. t is how much the true means differ from zero, squared. Where
/// the means are no larger than their errors it is 0, and all come out as zero. Variances that are not known, of one
/// sample for example, leave the means as they are.
///
/// Cost: O(C). Source: B. Efron, C. Morris, "Stein's estimation rule and its competitors: an empirical Bayes approach",
/// JASA 68 (1973), the positive-part rule of W. James and C. Stein for means of unequal variance.
std::vector<double> shrunk(const ChannelMeans& means);

}  // namespace vernier
