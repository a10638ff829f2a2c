// What a pair or a stored weight loses, as a row of the report, and why in words.
#pragma once

#include <cstddef>
#include <string>

#include "analysis/quantizer_loss.h"
#include "numerics/round.h"
#include "vernier/report/debug_loss.h"

namespace vernier {

std::size_t codes_in(Format format);

/// `row` with the figures of `loss`; of a loss without values (count 0) none.
QuantizerLoss with_loss(QuantizerLoss row, const QuantParams& params, const GridLoss& loss);

struct PairReason {
  std::string why, cure;
};
/// Why it loses what `pair` says.
PairReason reason_of_loss(const QuantizerLoss& pair);

}  // namespace vernier
