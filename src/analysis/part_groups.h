// Which neighbours, or which channels, of one axis belong together, judged by the rms of their values.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace vernier {

inline constexpr std::size_t kMostOutputParts = 32;  // of one output

/// Energy and number of the values of one segment.
struct SegmentSums {
  double energy = 0;
  double count = 0;
};

/// The first segment of each part behind the first, of what a Concat joined; empty: one whole.
std::vector<std::size_t> part_starts(std::span<const SegmentSums> operands);

/// Channels of one layer that belong together, each group in rising order; empty: one whole. Groups are runs of
/// neighbours where a cut between neighbours separates the scales, as boxes and scores, otherwise any channels of one
/// scale, as in [score, x, y, w, h, classes]. Of many channels such a group is no narrow one: single channels that are
/// hardly used lie anywhere. Up to 16 channels that fall 100 times without such a cut are groups by decades.
std::vector<std::vector<std::size_t>> channel_groups(std::span<const SegmentSums> channels);

}  // namespace vernier
