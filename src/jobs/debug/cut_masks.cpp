#include "jobs/debug/cut_masks.h"

#include <algorithm>
#include <utility>

#include "numerics/distribution.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

bool holds_mask(const Tensor& values) {
  return std::ranges::any_of(values.floats(), [](float value) { return value < -kNoMask; });
}

}  // namespace

bool cuts_off_mask(const QuantizedTensor& pair, const GridLoss& loss, const FloatValues& values) {
  const auto constant = values.constants.find(pair.output);
  return loss.range.min < -kNoMask || (constant != values.constants.end() && holds_mask(constant->second));
}

Model without_cut_masks(const SimulatedFile& file, const FloatValues& values, std::size_t pair) {
  FloatValues masks;
  for (const auto& [constant, value] : values.constants) {
    if (holds_mask(value)) masks.constants.emplace(constant, value);
  }
  const auto stays = [&](std::size_t i) { return i != pair; };
  Model model = with_float_constants(file, masks, [](std::size_t) { return false; });
  return without_roundings_of_pairs(file, std::move(model), masks, stays);
}

}  // namespace vernier
