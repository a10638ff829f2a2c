// Constants that mean something by their size, and no longer do in float16: epsilons and masks.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/text.h"
#include "causes/cause.h"

namespace vernier::causes {
namespace {

/// What FP16 rounds to infinity; -65505 becomes -65504.
bool becomes_infinite(float value) { return std::abs(value) >= 65520; }

bool masks_rows(const LayerFacts& layer) { return layer.masked_rows && layer.masked_rows->masked > 0; }

std::string rows_text(const MaskedRows& rows) {
  return fmt::format("{} of {} rows of '{}'", rows.masked, rows.all, printable(rows.scores));
}

/// Of masked rows: beyond the format the step of its largest value.
double step_of(const MaskedRows& rows, Format format) {
  return step_at(format, 1, std::min(rows.level, largest_of(format)));
}

std::string what_follows(const LayerFacts& layer, bool to_softmax) {
  if (layer.op_type == "Mul") return ", and infinity times 0 is NaN";
  if (to_softmax && masks_rows(layer)) {
    return fmt::format(", and {} are fully masked", rows_text(*layer.masked_rows));
  }
  if (to_softmax) return ". The Softmax returns the same zeros unless a whole row is masked";
  return ". Subtracting two of them returns NaN";
}

}  // namespace

Finding lost_epsilon(const LayerFacts& layer) {
  if (!is_float16(layer) || !layer.epsilon || *layer.epsilon > 0x1p-25F) return {};
  const std::string reader = layer.read_by.empty() ? "a division" : layer.read_by.front();
  const bool adds = layer.op_type == "Add";
  const TensorFacts* const data = activation_of(layer);
  const bool finite = std::isfinite(layer.own_noise);
  // Where nothing comes near 0, the loss is a risk on other samples, and no reason for what was measured.
  const bool far = finite && data != nullptr && !data->values.empty() && data->values.min >= kSmallestNormal;
  std::vector<CauseFigure> evidence{{"epsilon", static_cast<double>(*layer.epsilon), ""},
                                    {"smallest of FP16", 0x1p-24, ""}};
  if (far) evidence.push_back({"smallest value", data->values.min, ""});
  const double confidence = far ? 0.2 : finite ? 0.8 : 0.9;
  return of(layer, {}, confidence, std::move(evidence),
            fmt::format("{} {:g} in front of {}. FP16 rounds the epsilon to 0, so {}.{}",
                        adds ? "adds" : "limits values to at least", *layer.epsilon, reader,
                        reader == "Log" ? "the logarithm can be -inf" : "the division can be by zero",
                        far ? fmt::format(" On these samples it is not: '{}' is at least {:.3g}.",
                                          printable(data->name), data->values.min)
                            : ""),
            {"raise-epsilon", "scale-square"});
}

Finding mask_constant(const LayerFacts& layer) {
  if (!is_float16(layer)) return {};
  for (const TensorFacts& input : layer.inputs) {
    if (!input.mask || layer.op_type == "Softmax") continue;
    const float lowest = input.mask->low < 0 ? input.mask->low : input.mask->high;
    if (!becomes_infinite(lowest)) continue;
    const bool to_softmax = std::ranges::find(layer.read_by, "Softmax") != layer.read_by.end();
    if (!input.constant && input.infinite == 0 && !to_softmax) continue;
    return of(layer, input.name, to_softmax ? 0.92 : 0.97,
              {{"mask", static_cast<double>(lowest), ""},
               {"lowest of FP16", -largest_of(Format::Float16), ""},
               {"values", static_cast<double>(input.mask->count), ""}},
              fmt::format("the mask {:g} in '{}' is beyond FP16 and becomes {}inf{}.", lowest, printable(input.name),
                          lowest < 0 ? "-" : "", what_follows(layer, to_softmax)),
              {"clamp-mask"});
  }
  return {};
}

Finding added_masks(const LayerFacts& layer) {
  if (!is_float16(layer) || layer.outputs.empty() || !layer.outputs.front().mask || layer.inputs.size() != 2) return {};
  const Mask& sum = *layer.outputs.front().mask;
  const auto beyond = [](const Mask& mask) { return becomes_infinite(mask.low) || becomes_infinite(mask.high); };
  const auto is_mask = [&](const TensorFacts& input) { return input.mask && !beyond(*input.mask); };
  if (!beyond(sum) || !std::ranges::all_of(layer.inputs, is_mask)) return {};
  return of(layer, layer.outputs.front().name, 0.93,
            {{"mask", static_cast<double>(layer.inputs[0].mask->low), ""},
             {"other mask", static_cast<double>(layer.inputs[1].mask->low), ""},
             {"their sum", static_cast<double>(sum.low), ""},
             {"lowest of FP16", -largest_of(Format::Float16), ""}},
            fmt::format("adds two masks, '{}' of {:g} and '{}' of {:g}. If both apply, their sum {:g} is beyond "
                        "FP16 and becomes -inf.",
                        printable(layer.inputs[0].name), layer.inputs[0].mask->low, printable(layer.inputs[1].name),
                        layer.inputs[1].mask->low, sum.low),
            {"clamp-mask"});
}

Finding masked_scores(const LayerFacts& layer) {
  if (!is_narrow_float(layer) || !masks_rows(layer) || layer.inputs.size() != 2) return {};
  // Rows that become -inf as a whole are NaN: no digits of theirs are left.
  if (is_float16(layer) && becomes_infinite(static_cast<float>(layer.masked_rows->level))) return {};
  const MaskedRows& rows = *layer.masked_rows;
  const double step = step_of(rows, layer.format);
  const auto mask = std::ranges::find_if(layer.inputs, [](const TensorFacts& input) { return input.mask.has_value(); });
  if (mask == layer.inputs.end() || layer.op_type != "Add" || rows.noise_share < 0.5) return {};
  const TensorFacts& scores = layer.inputs[mask == layer.inputs.begin() ? 1 : 0];
  const double typical = magnitude_at(scores.values, 0.5);
  if (scores.mask || scores.values.empty() || typical > 4 * step) return {};
  return of(
      layer, mask->name, 0.96,
      {{"fully masked rows", static_cast<double>(rows.masked), ""},
       {"rows", static_cast<double>(rows.all), ""},
       {"typical score", typical, ""},
       {"spacing of values at the mask", step, ""}},
      fmt::format(
          "adds the mask '{}' to scores '{}' near {:.3g}: {} are fully masked. At that magnitude neighbouring {} "
          "values are {:g} apart, so the mask absorbs the scores. Keep the sum and the {} that reads it together.",
          printable(mask->name), printable(scores.name), typical, rows_text(rows), format_title(layer.format), step,
          printable(rows.softmax)),
      {});
}

Finding all_masked_softmax(const LayerFacts& layer) {
  if (!is_narrow_float(layer) || (layer.op_type != "Softmax" && layer.op_type != "LogSoftmax")) return {};
  if (std::isfinite(layer.own_noise)) {
    if (!masks_rows(layer) || layer.masked_rows->noise_share < 0.5 || layer.own_noise < 1e-5) return {};
    const MaskedRows& rows = *layer.masked_rows;
    const double step = step_of(rows, layer.format);
    const TensorFacts* read = activation_of(layer);
    const std::string maker = read == nullptr || read->maker.empty() ? "the layer" : "'" + printable(read->maker) + "'";
    return of(
        layer, rows.scores, 0.95,
        {{"fully masked rows", static_cast<double>(rows.masked), ""},
         {"rows", static_cast<double>(rows.all), ""},
         {"spacing of values at the mask", step, ""},
         {"share of the error", 100 * rows.noise_share, "%"}},
        fmt::format("{} are fully masked. In FP32 the scores under the mask still decide; in {} they are lost, because "
                    "neighbouring values are {:g} apart. Keep this {} and {} that makes '{}' together.",
                    rows_text(rows), format_title(layer.format), step, layer.op_type, maker, printable(rows.scores)),
        {});
  }
  const TensorFacts* data = activation_of(layer);
  if (data == nullptr || (!data->mask && data->values.absmax() < largest_of(Format::Float16))) return {};
  return of(layer, data->name, 0.9,
            {{"values that are masked", data->mask ? static_cast<double>(data->mask->count) : 0.0, ""}},
            "a whole row of its input is masked. In FP16 all of it is -inf, and the Softmax returns NaN.",
            {"clamp-mask"});
}

}  // namespace vernier::causes
