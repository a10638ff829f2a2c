#include "analysis/part_groups.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

namespace vernier {
namespace {

constexpr std::size_t kMostGroups = 8;      // of channels along one axis
constexpr double kApart = 10;               // in rms: 20 dB, more than three bits
constexpr double kNeighbours = 3.16227766;  // 10 dB
constexpr double kNothing = 1e-6;           // of the largest rms: as for relative errors (docs/contract.md, 4)
constexpr std::size_t kNarrowest = 32;      // a run of channels is at least one in so many
constexpr std::size_t kFewest = 2;          // channels of one scale that are no run,
constexpr std::size_t kNarrowestMixed = 8;  // and at least one in so many
constexpr double kLadder = 100;             // in rms: 40 dB between the ends of a ladder
constexpr std::size_t kLongestLadder = 16;  // channels: in wider outputs, some are hardly used

double rms(const SegmentSums& sums) { return sums.count > 0 ? std::sqrt(sums.energy / sums.count) : 0; }

/// Neighbouring segments that belong together.
struct Group {
  std::size_t first = 0;
  SegmentSums sums;
};

/// How far two neighbours are apart, as a ratio; 0: one of them is nothing.
double apart(const Group& a, const Group& b) {
  const double left = rms(a.sums), right = rms(b.sums);
  if (left <= 0 || right <= 0) return 0;
  return std::max(left / right, right / left);
}

using Channels = std::vector<std::size_t>;

/// Cuts channels in two where all of one side are ten times as large as all of the other, and so each side again. What
/// has no such cut and yet falls far, step by step, is cut by decades.
class ChannelCuts {
 public:
  explicit ChannelCuts(std::vector<double> sizes) : sizes_(std::move(sizes)) {}

  std::vector<Channels> groups() {
    Channels all(sizes_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    cut(all);
    return std::move(groups_);
  }

 private:
  void cut(const Channels& channels) {
    // In a wide output a part is no narrow one: the rarest of 1000 classes at its end is no part.
    const std::size_t narrowest = std::max<std::size_t>(1, sizes_.size() / kNarrowest);
    if (const std::size_t at = best_cut(channels, narrowest, 1); at > 0) return cut_at(channels, at);
    Channels by_size = channels;
    std::ranges::stable_sort(by_size, std::greater<>(), [&](std::size_t channel) { return sizes_[channel]; });
    const std::size_t fewest = std::max(kFewest, sizes_.size() / kNarrowestMixed);
    if (const std::size_t at = best_cut(by_size, fewest, fewest); at > 0) return cut_at(by_size, at);
    for (Channels& decade : decades(by_size)) {
      std::ranges::sort(decade);
      groups_.push_back(std::move(decade));
    }
  }

  /// `by_size`, the largest first, in groups that fall ten times each; one group where a channel would be alone.
  std::vector<Channels> decades(const Channels& by_size) const {
    std::vector<Channels> found(1);
    double smallest = sizes_[by_size.front()];
    for (const std::size_t channel : by_size) {
      const double largest = found.back().empty() ? sizes_[channel] : sizes_[found.back().front()];
      if (sizes_[channel] > 0) smallest = sizes_[channel];
      if (sizes_[channel] > 0 && largest > kApart * sizes_[channel]) found.emplace_back();
      found.back().push_back(channel);
    }
    if (found.size() > 1 && found.back().size() < kFewest) {
      const Channels last = std::move(found.back());
      found.pop_back();
      found.back().insert(found.back().end(), last.begin(), last.end());
    }
    const bool alone = std::ranges::any_of(found, [](const Channels& group) { return group.size() < kFewest; });
    const bool ladder = sizes_[by_size.front()] >= kLadder * smallest && sizes_.size() <= kLongestLadder;
    return alone || !ladder ? std::vector<Channels>{by_size} : found;
  }

  void cut_at(const Channels& channels, std::size_t at) {
    const auto middle = channels.begin() + static_cast<std::ptrdiff_t>(at);
    for (Channels side : {Channels(channels.begin(), middle), Channels(middle, channels.end())}) {
      std::ranges::sort(side);
      cut(side);
    }
  }

  /// How many channels lie on the first side; 0: there is no such cut. What is nothing may be on either side, which has
  /// `fewest` channels beside that.
  std::size_t best_cut(const Channels& channels, std::size_t narrowest, std::size_t fewest) const {
    std::size_t best = 0;
    double widest = kApart;
    for (std::size_t at = narrowest; at + narrowest <= channels.size() && at > 0; ++at) {
      double least[2] = {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
      double most[2] = {0, 0};
      std::size_t used[2] = {0, 0};
      for (std::size_t i = 0; i < channels.size(); ++i) {
        const double size = sizes_[channels[i]];
        if (size <= 0) continue;
        const std::size_t side = i < at ? 0 : 1;
        ++used[side];
        least[side] = std::min(least[side], size);
        most[side] = std::max(most[side], size);
      }
      if (used[0] < fewest || used[1] < fewest) continue;
      const double ratio = std::max(least[0] / most[1], least[1] / most[0]);
      if (ratio < widest) continue;
      widest = ratio;
      best = at;
    }
    return best;
  }

  std::vector<double> sizes_;  // 0: nothing
  std::vector<Channels> groups_;
};

/// The rms of each segment, and whether any are far enough apart.
bool differ(std::span<const SegmentSums> segments, double nothing, double largest, std::vector<double>& sizes) {
  double smallest = largest;
  for (const SegmentSums& segment : segments) {
    sizes.push_back(rms(segment) > nothing ? rms(segment) : 0);
    if (sizes.back() > 0) smallest = std::min(smallest, sizes.back());
  }
  return largest >= kApart * smallest;
}

double largest_of(std::span<const SegmentSums> segments) {
  double largest = 0;
  for (const SegmentSums& segment : segments) largest = std::max(largest, rms(segment));
  return largest;
}

}  // namespace

std::vector<std::size_t> part_starts(std::span<const SegmentSums> operands) {
  std::vector<double> sizes;
  // What a Concat joins is there on purpose, however small.
  if (!differ(operands, 0, largest_of(operands), sizes)) return {};
  std::vector<Group> groups;
  for (std::size_t i = 0; i < operands.size(); ++i) groups.push_back({i, operands[i]});
  // The nearest neighbours become one while they are near, or too many.
  while (groups.size() > 1) {
    std::size_t nearest = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i + 1 < groups.size(); ++i) {
      const double ratio = apart(groups[i], groups[i + 1]);
      if (ratio >= least) continue;
      least = ratio;
      nearest = i;
    }
    if (least >= kNeighbours && groups.size() <= kMostOutputParts) break;
    groups[nearest].sums.energy += groups[nearest + 1].sums.energy;
    groups[nearest].sums.count += groups[nearest + 1].sums.count;
    groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(nearest) + 1);
  }
  std::vector<std::size_t> starts;
  for (std::size_t i = 1; i < groups.size(); ++i) starts.push_back(groups[i].first);
  return starts;
}

std::vector<std::vector<std::size_t>> channel_groups(std::span<const SegmentSums> channels) {
  const double largest = largest_of(channels);
  std::vector<double> sizes;
  if (!differ(channels, kNothing * largest, largest, sizes)) return {};
  std::vector<Channels> groups = ChannelCuts(std::move(sizes)).groups();
  if (groups.size() < 2 || groups.size() > kMostGroups) return {};
  std::ranges::sort(groups);  // by their first channel
  return groups;
}

}  // namespace vernier
