#include "causes/causes.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <optional>

#include "causes/cause.h"

namespace vernier {
namespace causes {
namespace {

struct Row {
  const char* id;
  Finding (*find)(const LayerFacts&);
};

constexpr Row kCauses[] = {
    {"overflow", overflow},
    {"overflow-read", overflow_read},
    {"overflow-inside", overflow_inside},
    {"mask-constant", mask_constant},
    {"added-masks", added_masks},
    {"masked-scores", masked_scores},
    {"all-masked-softmax", all_masked_softmax},
    {"lost-epsilon", lost_epsilon},
    {"subnormal-loss", subnormal_loss},
    {"large-integers", large_integers},
    {"large-phase", large_phase},
    {"absorption", absorption},
    {"cancellation", cancellation},
    {"large-mean", large_mean},
    {"long-accumulation", long_accumulation},
    {"calibration-unrepresentative", calibration_unrepresentative},
    {"over-saturation", over_saturation},
    {"weight-grid", weight_grid},
    {"bias-clip", bias_clip},
    {"unfolded-batch-norm", unfolded_batch_norm},
    {"weight-channel-spread", weight_channel_spread},
    {"weight-outliers", weight_outliers},
    {"activation-outliers", activation_outliers},
    {"concat-scales", concat_scales},
    {"outlier-channels", outlier_channels},
    {"channel-spread", channel_spread},
    {"range-per-sample", range_per_sample},
    {"unused-levels", unused_levels},
    {"bias-shift", bias_shift},
    {"attention-probabilities", attention_probabilities},
    {"residual-scales", residual_scales},
    {"gating", gating},
    {"small-negative-tail", small_negative_tail},
    {"one-sided-data", one_sided_data},
    {"pair-saturation", pair_saturation},
    {"depthwise", depthwise},
    {"first-or-last-layer", first_or_last_layer},
};

/// What no single layer is to blame for.
std::optional<Cause> of_network(const NetworkFacts& facts) {
  constexpr double kGood = 1e-3;  // 30 dB
  if (facts.top1_agreement && *facts.top1_agreement < 1 && facts.output_noise < kGood) {
    return Cause{
        "decision-boundary",
        {},
        {},
        0.6,
        {{"SQNR of the output", db_of(facts.output_noise), "dB"},
         {"same largest score", 100 * *facts.top1_agreement, "%"}},
        "the output is near the float32 one; where the class with the largest score changes, two were nearly equal",
        {"keep-high"}};
  }
  // As near to equal shares as layers of different size come. Nothing is said where one layer does half of the damage.
  const double spread = facts.depth == 0 ? 0 : std::max(0.2, std::min(0.6, 2.5 / static_cast<double>(facts.depth)));
  const bool even = facts.depth >= 2 && facts.largest_share > 0 && facts.largest_share < spread;
  if (even && facts.worst_beyond_usual < 1) {
    return Cause{
        "diffuse",
        {},
        {},
        0.6,
        {{"layers", static_cast<double>(facts.depth), ""},
         {"largest share of one layer", 100 * facts.largest_share, "%"},
         {"SQNR of the worst layer", db_of(facts.worst_own_noise), "dB"}},
        fmt::format("no layer is bad by itself: each loses what rounding to its format costs anywhere ({:.1f} dB "
                    "at the worst), and {} add up",
                    db_of(facts.worst_own_noise), plural(facts.depth, "layer")),
        {"bias-correction", "range", "keep-high"}};
  }
  return std::nullopt;
}

}  // namespace
}  // namespace causes

std::vector<Cause> find_causes(const NetworkFacts& facts, std::span<const CauseFinder> own) {
  if (!facts.needed) return {};
  std::vector<Cause> found = causes::close_decisions(facts);
  std::ranges::move(causes::lost_limits(facts), std::back_inserter(found));
  for (const LayerFacts& layer : facts.layers) {
    std::vector<Cause> of_layer;
    for (const causes::Row& row : causes::kCauses) {
      if (causes::Finding finding = row.find(layer)) {
        finding->id = row.id;
        of_layer.push_back(std::move(*finding));
      }
    }
    for (const CauseFinder& finder : own) {
      if (std::optional<Cause> finding = finder.find(evidence_of(layer))) {
        finding->id = finder.id;
        finding->layer = layer.name;
        if (finding->repairs.empty() || finding->repairs.back() != "keep-high") {
          finding->repairs.emplace_back("keep-high");
        }
        of_layer.push_back(std::move(*finding));
      }
    }
    std::ranges::stable_sort(of_layer, std::ranges::greater{}, &Cause::confidence);
    std::ranges::move(of_layer, std::back_inserter(found));
  }
  if (auto whole = causes::of_network(facts)) found.push_back(std::move(*whole));
  return found;
}

Blame blame_of(const LayerFacts& layer) {
  Blame blame;
  blame.layer = layer.name;
  if (layer.weights_noise && layer.activations_noise) {
    const double sum = *layer.weights_noise + *layer.activations_noise;
    if (std::isfinite(sum) && sum > 0) {
      blame.weights = *layer.weights_noise / sum;
      blame.activations = *layer.activations_noise / sum;
    }
  }
  if (const TensorFacts* data = causes::activation_of(layer); data != nullptr && causes::is_scaled(layer)) {
    const causes::GridNoise noise = causes::grid_noise(*data);
    if (const double sum = noise.clipping + noise.rounding; sum > 0) {
      blame.clipping = noise.clipping / sum;
      blame.rounding = noise.rounding / sum;
    }
  }
  if (layer.inherited_noise && std::isfinite(layer.own_noise) && *layer.inherited_noise + layer.own_noise > 0) {
    blame.inherited = *layer.inherited_noise / (*layer.inherited_noise + layer.own_noise);
  }
  return blame;
}

}  // namespace vernier
