// What a pair or a stored weight loses, as a row of the report, and why in words.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "analysis/quantizer_loss.h"
#include "numerics/round.h"
#include "plan/simulate_typed.h"
#include "vernier/report/debug_loss.h"
#include "vernier/tensor.h"

namespace vernier {

std::size_t codes_in(Format format);

/// What the report says of a pair or a stored weight before it is measured.
QuantizerLoss described(const QuantizedTensor& quantized);

/// Share of the codes that a constant uses.
std::optional<double> used_codes(const QuantParams& params, const Tensor& values);

/// `row` with the figures of `loss`; of a loss without values (count 0) none.
QuantizerLoss with_loss(QuantizerLoss row, const QuantParams& params, const GridLoss& loss);

/// How many times as wide as the values of a weight its grid is.
struct Coverage {
  double middle = 0;                 // of its channels or blocks
  std::size_t scales = 0, wide = 0;  // that values need, and that are far too large where the middle one is not
  std::size_t first = 0;             // of these
  double times = 0;                  // of the first
};
/// Nothing of float formats, whose steps grow with values.
std::optional<Coverage> coverage_of_channels(const QuantParams& params, const Tensor& values);

/// Two bits of the pair's format are unused.
bool has_far_too_large_scale(const QuantizerLoss& pair);

/// The node that defects of a pair name.
inline const std::string& node_of_pair(const QuantizerLoss& pair) {
  return pair.quantizer.empty() ? pair.dequantizer : pair.quantizer;
}

struct PairReason {
  std::string why, cure;
};
/// Of a weight with some scales that are far too large.
PairReason reason_of_some(const Coverage& coverage, bool blocks);
/// Why it loses what `pair` says. `scaled_down`: as of can_scale_down().
PairReason reason_of_loss(const QuantizerLoss& pair, bool scaled_down);

/// Whether `smooth` can act: what makes the tensor takes the factors of its channels, and so does the stored weight of
/// a product that reads what the pair makes.
bool can_scale_down(const SimulatedFile& file, const QuantizedTensor& pair);

/// What helps an activation with too few levels.
std::string cure_of_few_levels(bool scaled_down);

}  // namespace vernier
