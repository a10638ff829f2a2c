// An orthogonal matrix over the channels of a tensor, which spreads a large channel over all others. A Hadamard matrix
// is the flattest that there is; widths that are no power of two have it in blocks, with a small matrix between them.
// Beside a norm that subtracts the mean, the matrix has to leave the mean alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace vernier {

class ChannelRotation {
 public:
  /// `keeps_mean`: the sum of the channels stays what it is, in any vector. `width`: one that fits().
  ChannelRotation(std::size_t width, bool keeps_mean);

  /// v Q, in place, for a row of `width` values. Cost: about width * (log2(width) + its odd factor).
  void turn(std::span<double> row) const;

  /// Widths whose odd factor is small enough for its part of the matrix: 768, 5120, not 1601.
  static bool fits(std::size_t width);

 private:
  std::size_t width_, blocks_, inside_;  // width = blocks * inside, a power of two
  bool keeps_mean_;
  std::vector<double> between_;       // [blocks, blocks], from one block to another; empty: they are not mixed
  std::vector<double> signs_;         // of the channels; empty: they keep theirs
  std::vector<std::uint32_t> place_;  // that each channel comes from; empty: its own
};

}  // namespace vernier
