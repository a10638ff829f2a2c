// Sums of two products of codes, as vpmaddubsw makes them: an unsigned code of data times a signed one of a weight, and
// its neighbour's, in 16 bits that saturate. x86 CPUs without VNNI multiply matrices of uint8 and int8 so.
#pragma once

#include <span>

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

}  // namespace vernier
