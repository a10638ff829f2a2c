// What the distance between neighbouring values of a narrow float does to sums and differences.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "causes/cause.h"

namespace vernier::causes {
namespace {

/// Of two operands that differ by less neither is lost beside the other: even bfloat16 has steps of 2^-8 of the large
/// one.
constexpr double kUnequal = 8;

/// Energies of the two operands of an Add or Sub: {small, large}; absent for other operators.
struct Operands {
  const TensorFacts* small = nullptr;
  const TensorFacts* large = nullptr;
  double small_rms = 0, large_rms = 0;
};

double rms_of(const TensorFacts& tensor) {
  if (tensor.values.count == 0) return 0;
  return std::sqrt(energy_of(tensor.values) / static_cast<double>(tensor.values.count));
}

std::optional<Operands> operands_of(const LayerFacts& layer) {
  if ((layer.op_type != "Add" && layer.op_type != "Sub" && layer.op_type != "Sum") || layer.inputs.size() != 2)
    return {};
  Operands operands{&layer.inputs[0], &layer.inputs[1], rms_of(layer.inputs[0]), rms_of(layer.inputs[1])};
  if (operands.small_rms > operands.large_rms) {
    std::swap(operands.small, operands.large);
    std::swap(operands.small_rms, operands.large_rms);
  }
  if (operands.small_rms == 0 || !std::isfinite(operands.large_rms)) return {};
  return operands;
}

/// Norms that `centre-stream` knows.
bool takes_means(const std::string& op_type) {
  return op_type == "LayerNormalization" || op_type == "InstanceNormalization" || op_type == "GroupNormalization";
}

}  // namespace

Finding absorption(const LayerFacts& layer) {
  const auto operands = is_narrow_float(layer) ? operands_of(layer) : std::nullopt;
  if (!operands || operands->large->mask || operands->small->mask || layer.output_rms == 0) return {};
  if (layer.epsilon) return {};  // meant to vanish beside all but zero
  if (overflows(layer) || operands->large_rms < kUnequal * operands->small_rms) return {};
  const double steps = operands->large_rms * epsilon_of(layer.format) / 2;  // about half the distance of neighbours
  const double lost = std::sqrt(layer.own_noise) * layer.output_rms / operands->small_rms;
  // A sum that is as large as its large operand; where the two nearly cancel, cancellation() says so.
  if (lost < 0.1 || layer.output_rms < 0.1 * operands->large_rms) return {};
  // A part of it alone is the usual rounding of the sum, unless the large part is taken off again.
  if (lost < 0.5 && !layer.cancelled && !layer.mean && !layer.adds_branch) return {};
  return of(
      layer, operands->small->name, lost > 0.5 ? 0.96 : 0.85,
      {{"typical magnitude of the small operand", operands->small_rms, ""},
       {"typical magnitude of the large operand", operands->large_rms, ""},
       {"lost of the small operand", std::min(100.0, 100 * lost), "%"}},
      fmt::format(
          "adds values near {:.3g} to values near {:.4g}, where neighbouring {} values are about {:.2g} apart. {:.0f} "
          "% of the smaller operand '{}' is lost. Keep it together with the layer that subtracts the large part again.",
          operands->small_rms, operands->large_rms, format_title(layer.format), 2 * steps, std::min(100.0, 100 * lost),
          printable(operands->small->name)),
      {});
}

namespace {

constexpr double kCancels = 1e-5;  // of the noise: 50 dB
constexpr double kGrows = 10, kGrowsMuch = 30;

/// What to do about distances that are computed as a difference of squares.
std::string centring_text(const std::string& distances) {
  if (distances.empty()) return {};
  return fmt::format(
      " These are distances, written as |x|^2 + |c|^2 - 2 x.c with x = '{}'. Subtract the mean of x from "
      "x and from c first: the distances stay the same, and the operands become small.",
      printable(distances));
}

/// Of a layer whose result a sum behind it cancels: its own rounding is small, and not beside what is left.
Finding cancelled_behind(const LayerFacts& layer) {
  if (layer.mean || !layer.cancelled || overflows(layer)) return {};
  const CancelledBehind& sum = *layer.cancelled;
  if (sum.factor < kGrows || layer.effect_noise.value_or(0) < std::max(kCancels, kGrows * layer.own_noise)) return {};
  return of(layer, layer.outputs.empty() ? std::string() : layer.outputs.front().name,
            sum.factor < kGrowsMuch ? 0.6 : 0.8,
            {{"typical magnitude of an operand", sum.operand_rms, ""},
             {"typical magnitude of the result", sum.result_rms, ""},
             {"error grows", sum.factor, "x"}},
            fmt::format("'{}' after it subtracts nearly equal values near {:.4g}. The result is near {:.3g}, so the "
                        "rounding error of the operands grows {:.0f} times relative to it.{}",
                        printable(sum.node), sum.operand_rms, sum.result_rms, sum.factor, centring_text(sum.distances)),
            {});
}

}  // namespace

Finding cancellation(const LayerFacts& layer) {
  const auto operands = is_narrow_float(layer) ? operands_of(layer) : std::nullopt;
  if (!operands || layer.output_rms == 0) return cancelled_behind(layer);
  if (operands->small->mask || operands->large->mask) return {};
  if (overflows(layer)) return {};  // which is why its result is not finite
  const double factor = (operands->small_rms + operands->large_rms) / layer.output_rms;
  // 1 + erf or 1 + tanh of negative values: the middle of a GELU in pieces.
  const bool in_gelu = std::ranges::any_of(layer.made_by, [](const auto& op) { return op == "Erf" || op == "Tanh"; });
  const double noise = std::max(layer.own_noise, layer.effect_noise.value_or(0));
  if (factor < kGrows || (std::isfinite(noise) && noise < kCancels)) return cancelled_behind(layer);
  return of(layer, operands->large->name, factor < kGrowsMuch ? 0.6 : 0.8,
            {{"typical magnitude of an operand", operands->large_rms, ""},
             {"typical magnitude of the result", layer.output_rms, ""},
             {"error grows", factor, "x"}},
            fmt::format("subtracts nearly equal values near {:.4g}. The result is near {:.3g}, so the rounding error "
                        "of the operands grows {:.0f} times relative to it.{}",
                        operands->large_rms, layer.output_rms, factor, centring_text(layer.distances)),
            in_gelu ? std::vector<std::string>{"fuse-gelu"} : std::vector<std::string>{});
}

Finding large_mean(const LayerFacts& layer) {
  constexpr double kMatters = 1e-5;  // 50 dB
  if (!is_narrow_float(layer) || !layer.mean || layer.mean->factor < 30) return {};
  const MeanTakenOff& mean = *layer.mean;
  const bool own = mean.norm == layer.name;
  if (overflows(layer) || (own ? layer.own_noise : layer.effect_noise.value_or(0)) < kMatters) return {};
  std::vector<CauseFigure> figures{
      {"mean of a group", mean.mean, ""}, {"spread of the group", mean.spread, ""}, {"error grows", mean.factor, "x"}};
  const std::string what = fmt::format(
      "the mean that {} subtracts, up to {:.4g}, is large compared with the remaining spread of {:.2g}",
      own ? "this " + mean.op_type : fmt::format("'{}' after it", printable(mean.norm)), mean.mean, mean.spread);
  return of(layer, mean.tensor, own ? 0.9 : 0.85, std::move(figures),
            fmt::format("{}. That magnifies the rounding of '{}' to {} {:.0f} times.", what, printable(mean.tensor),
                        format_title(layer.format), mean.factor),
            takes_means(mean.op_type) ? std::vector<std::string>{"centre-stream"} : std::vector<std::string>{});
}

Finding long_accumulation(const LayerFacts& layer) {
  if (is_scaled(layer) && layer.largest_sum > 2147483647.0) {
    return of(layer, {}, 0.35,
              {{"terms", static_cast<double>(layer.terms), ""}, {"largest sum", layer.largest_sum, ""}},
              fmt::format("sums {} products of integers, up to {:.3g}. An engine with 32-bit sums overflows; the "
                          "simulation sums in FP32 and does not.",
                          layer.terms, layer.largest_sum),
              {});
  }
  if (!is_narrow_float(layer) || layer.terms < 4096) return {};
  const double expected = std::sqrt(static_cast<double>(layer.terms)) * epsilon_of(layer.format) / 2;
  if (expected < 0.01) return {};
  return of(layer, {}, 0.35,
            {{"terms", static_cast<double>(layer.terms), ""}, {"expected relative error", 100 * expected, "%"}},
            fmt::format("sums {} values. An engine that accumulates in {} is off by about {:.1f} %; the simulation "
                        "accumulates in FP32.",
                        layer.terms, format_title(layer.format), 100 * expected),
            {});
}

}  // namespace vernier::causes
