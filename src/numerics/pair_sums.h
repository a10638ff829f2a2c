// Sums of two products of codes, as vpmaddubsw makes them: an unsigned code of data times a signed one of a weight, and
// its neighbour's, in 16 bits that saturate. x86 CPUs without VNNI multiply matrices of uint8 and int8 so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "numerics/distribution.h"
#include "numerics/round.h"
#include "numerics/tensor_grid.h"

namespace vernier {

/// Share of the pairs of neighbours along `summed` whose sum of products leaves [-32768, 32767], where neighbouring
/// values of the data are alike: pair w1, w2 of weight codes does for codes a of data with
///
///   a (max(w1, 0) + max(w2, 0)) > 32767   or   a (min(w1, 0) + min(w2, 0)) < -32768
///
/// An estimate: neighbours that are not alike reach the ends less often.
/// `codes`: of the weight, whole numbers in [-128, 127]. `grid`: of the data, uint8 with one scale.
/// Edges: 0 without a pair or without data.
double pairs_beyond_16_bits(std::span<const float> codes, const AxisGeometry& summed, const Distribution& data,
                            const QuantParams& grid);

/// The codes of a weight as such a kernel reads them, and what saturation adds to its sums.
class PairSums {
 public:
  /// `codes`: [outputs, terms], the terms of one result in the order in which the kernel sums them; the first and the
  /// second are a pair, the third and the fourth, and so on. Cost: one pass; keeps only the pairs that may saturate.
  PairSums(std::span<const std::int8_t> codes, std::size_t outputs, std::size_t terms);

  /// Whether some code of data lets some pair leave 16 bits.
  bool may_saturate() const { return may_saturate_; }
  std::size_t pairs() const { return terms_ / 2; }  // of one result

  /// Sum over the pairs of result `output` of clamp(p, -32768, 32767) - p, p = a1 w1 + a2 w2, for the codes `data`
  /// [terms]. Adds the number of pairs that saturate to `saturated`.
  std::int64_t excess(std::size_t output, std::span<const std::uint8_t> data, std::int64_t& saturated) const;

 private:
  struct Pair {
    std::uint32_t term = 0;  // the first of the two
    std::int16_t one = 0, two = 0;
  };
  std::size_t terms_ = 0;
  bool may_saturate_ = false;
  std::vector<std::vector<Pair>> of_output_;
};

}  // namespace vernier
