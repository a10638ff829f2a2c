// Constants that mean something by their size, and no longer do in float16: epsilons and masks.
#include <algorithm>
#include <cmath>
#include <string>

#include "causes/cause.h"

namespace vernier::causes {
namespace {

const char* what_follows(const LayerFacts& layer, bool to_softmax) {
  if (to_softmax) return ": its softmax gives the same zeros, as long as no row is masked as a whole";
  return layer.op_type == "Mul" ? ", which times 0 is NaN" : ": where two of them meet the result is NaN";
}

}  // namespace

Finding lost_epsilon(const LayerFacts& layer) {
  if (!is_float16(layer) || !layer.epsilon || *layer.epsilon > 0x1p-25F) return {};
  const std::string reader = layer.read_by.empty() ? "a division" : layer.read_by.front();
  const bool adds = layer.op_type == "Add";
  return of(layer, {}, std::isfinite(layer.own_noise) ? 0.8 : 0.9,
            {{"epsilon", static_cast<double>(*layer.epsilon), ""}, {"smallest of float16", 0x1p-24, ""}},
            fmt::format("{} {:g} in front of {}, which float16 turns into 0: {}", adds ? "adds" : "lets nothing below",
                        *layer.epsilon, reader,
                        reader == "Log" ? "the logarithm of 0 is -inf" : "a divisor of 0 is no longer kept away"),
            {"raise-epsilon", "scale-square"});
}

Finding mask_constant(const LayerFacts& layer) {
  if (!is_float16(layer)) return {};
  for (const TensorFacts& input : layer.inputs) {
    if (!input.mask || layer.op_type == "Softmax") continue;
    const auto lowest = static_cast<double>(input.mask->low < 0 ? input.mask->low : input.mask->high);
    if (std::abs(lowest) <= largest_of(Format::Float16)) continue;
    const bool to_softmax = std::ranges::find(layer.read_by, "Softmax") != layer.read_by.end();
    if (!input.constant && input.infinite == 0 && !to_softmax) continue;
    return of(layer, input.name, to_softmax ? 0.92 : 0.97,
              {{"mask", lowest, ""},
               {"lowest of float16", -largest_of(Format::Float16), ""},
               {"values", static_cast<double>(input.mask->count), ""}},
              fmt::format("the mask {:g} in '{}' is beyond float16 and becomes {}inf{}", lowest, printable(input.name),
                          lowest < 0 ? "-" : "", what_follows(layer, to_softmax)),
              {"clamp-mask"});
  }
  return {};
}

Finding all_masked_softmax(const LayerFacts& layer) {
  if (!is_narrow_float(layer) || layer.op_type != "Softmax" || std::isfinite(layer.own_noise)) return {};
  const TensorFacts* data = activation_of(layer);
  if (data == nullptr || (!data->mask && data->values.absmax() < largest_of(Format::Float16))) return {};
  return of(layer, data->name, 0.9,
            {{"values that are masked", data->mask ? static_cast<double>(data->mask->count) : 0.0, ""}},
            "a row of its input is masked as a whole: in float16 all of it is -inf, and softmax gives NaN",
            {"clamp-mask"});
}

}  // namespace vernier::causes
