#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "numerics/range_methods.h"
#include "vernier/calibration.h"
#include "vernier/format.h"

namespace vernier {
namespace {

constexpr std::size_t kBins = 2048;

std::size_t levels_of(Format format) {
  require_levels_for({CalibrationMethod::Entropy}, format);
  return format == Format::Int4 ? 8 : format == Format::UInt8 ? 256 : 128;
}

/// Sums over the first bins, so that every window costs as many steps as it has levels.
class Windows {
 public:
  explicit Windows(const std::vector<double>& counts)
      : counts_(counts), sum_(counts.size() + 1), entropy_(counts.size() + 1), filled_(counts.size() + 1) {
    for (std::size_t i = 0; i < counts.size(); ++i) {
      sum_[i + 1] = sum_[i] + counts[i];
      entropy_[i + 1] = entropy_[i] + by_log(counts[i]);
      filled_[i + 1] = filled_[i] + (counts[i] > 0 ? 1 : 0);
    }
  }

  /// sum p log(p / q) of the window [first, last) in `levels` groups; infinite where q is 0 and p is not.
  double divergence(std::size_t first, std::size_t last, std::size_t levels) const {
    constexpr double kImpossible = std::numeric_limits<double>::infinity();
    const double all = sum_.back();
    const double inside = sum_[last] - sum_[first];
    const double tail_below = sum_[first];
    const double tail_above = all - sum_[last];
    if (inside <= 0) return kImpossible;
    const std::size_t end = last - 1;
    if ((tail_below > 0 && counts_[first] <= 0) || (tail_above > 0 && counts_[end] <= 0)) return kImpossible;
    double p_log_p = entropy_[last] - entropy_[first];
    double p_log_q = 0;
    const std::size_t width = last - first;
    for (std::size_t l = 0; l < levels; ++l) {
      const std::size_t from = first + l * width / levels;
      const std::size_t to = first + (l + 1) * width / levels;
      const double sum = sum_[to] - sum_[from];
      if (sum <= 0) continue;
      const double log_q = std::log(sum / (filled_[to] - filled_[from]));
      p_log_q += sum * log_q;
      if (from <= first && first < to) p_log_q += tail_below * log_q;
      if (from <= end && end < to) p_log_q += tail_above * log_q;
    }
    if (first == end) {
      p_log_p += by_log(counts_[end] + tail_below + tail_above) - by_log(counts_[end]);
    } else {
      p_log_p += by_log(counts_[first] + tail_below) - by_log(counts_[first]);
      p_log_p += by_log(counts_[end] + tail_above) - by_log(counts_[end]);
    }
    return (p_log_p - p_log_q) / all - std::log(all) + std::log(inside);
  }

 private:
  static double by_log(double value) { return value > 0 ? value * std::log(value) : 0; }
  const std::vector<double>& counts_;
  std::vector<double> sum_, entropy_, filled_;
};

/// The number of bins that the best window [0, i) has.
std::size_t best_window(const std::vector<double>& counts, std::size_t levels) {
  const Windows windows(counts);
  std::size_t best = counts.size();
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = levels; i <= counts.size(); ++i) {
    const double divergence = windows.divergence(0, i, levels);
    if (divergence < least) {
      least = divergence;
      best = i;
    }
  }
  return best;
}

/// Values of one sign: the bound of their magnitudes.
float bound_of(const Distribution& sizes, std::size_t levels) {
  std::vector<double> counts = linear_bins(sizes, 0, sizes.max, kBins);
  counts[0] = counts[1];
  const std::size_t best = best_window(counts, levels);
  return best == kBins ? sizes.max : sizes.max * static_cast<float>(best) / static_cast<float>(kBins);
}

/// Values of both signs on 256 levels: the share of both ends that is kept.
double kept_share(const Distribution& values, std::size_t levels) {
  std::vector<double> counts = linear_bins(values, values.min, values.max, kBins);
  const double zero = -static_cast<double>(values.min) / (static_cast<double>(values.max) - values.min) * kBins;
  const auto at_zero = std::min(static_cast<std::size_t>(zero), kBins - 1);
  const double below = at_zero > 0 ? counts[at_zero - 1] : counts[at_zero + 1];
  const double above = at_zero + 1 < kBins ? counts[at_zero + 1] : below;
  counts[at_zero] = (below + above) / 2;
  const Windows windows(counts);
  double best = 1;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = levels; i <= kBins; ++i) {
    const double share = static_cast<double>(i) / kBins;
    const auto first = static_cast<std::size_t>(zero * (1 - share));
    const auto last = std::min(kBins, static_cast<std::size_t>(std::ceil(zero + (kBins - zero) * share)));
    const double divergence = windows.divergence(first, last, levels);
    if (divergence < least) {
      least = divergence;
      best = share;
    }
  }
  return best;
}

}  // namespace

ValueRange entropy_range(const Distribution& values, Format format) {
  const std::size_t levels = levels_of(format);
  if (values.absmax() == 0) return {};
  if (format == Format::UInt8 && values.min < 0 && values.max > 0) {
    const auto share = static_cast<float>(kept_share(values, levels));
    return {values.min * share, values.max * share};
  }
  const float bound = bound_of(magnitudes(values), levels);
  return {std::max(values.min, -bound), std::min(values.max, bound)};
}

}  // namespace vernier
