#include "causes/causes.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "causes/cause.h"
#include "causes/cause_texts.h"

namespace vernier {
namespace causes {
namespace {

struct Row {
  const char* id;
  const char* formats;  // that it is looked for in
  const char* text;     // one line for people
  Finding (*find)(const LayerFacts&);
};

constexpr Row kCauses[] = {
    {"residual-overflow", "FP16, BF16", "a residual stream grows beyond the largest value of the format",
     residual_overflow},
    {"overflow", "FP16, BF16", "a result is beyond the largest value of the format, 65504 in FP16", overflow},
    {"overflow-read", "FP16, BF16", "an input is beyond the largest value of the format", overflow_read},
    {"overflow-inside", "FP16, BF16", "squares or exponentials inside a norm or Softplus are beyond the largest value",
     overflow_inside},
    {"mask-constant", "FP16, BF16", "a mask such as -1e9 becomes -inf", mask_constant},
    {"added-masks", "FP16, BF16", "two masks of -65504 add up to -inf", added_masks},
    {"masked-scores", "FP16, BF16", "a mask absorbs the scores that it is added to, in fully masked rows",
     masked_scores},
    {"all-masked-softmax", "FP16, BF16", "a fully masked row becomes NaN in a Softmax", all_masked_softmax},
    {"lost-epsilon", "FP16, BF16", "an epsilon up to 2^-25 becomes 0 in front of a root, a division or a logarithm",
     lost_epsilon},
    {"subnormal-loss", "FP16, BF16", "values below the smallest normal one, 6.1e-5 in FP16, lose digits or become 0",
     subnormal_loss},
    {"large-integers", "FP16, BF16", "whole numbers are beyond 2048 in FP16, 256 in BF16", large_integers},
    {"large-phase", "all",
     "sine or cosine of angles beyond 100 radians (BF16: 13), such as positions times a frequency", large_phase},
    {"absorption", "FP16, BF16", "a small operand vanishes in the rounding of a large one", absorption},
    {"cancellation", "all", "operands are nearly equal, so their difference is mostly rounding error", cancellation},
    {"large-mean", "FP16, BF16", "a norm subtracts a mean that is 30 times the spread of its input", large_mean},
    {"long-accumulation", "all", "4096 values or more are summed; in INT8, a sum is beyond 32 bits", long_accumulation},
    {"calibration-unrepresentative", "INT8, UINT8, FP8", "samples reach beyond the range of calibration",
     calibration_unrepresentative},
    {"over-saturation", "INT8, UINT8, FP8", "the range clips too many values", over_saturation},
    {"weight-grid", "INT8, UINT8, FP8", "weights that already lie on one scale are rounded to another", weight_grid},
    {"bias-clip", "INT8, UINT8, FP8",
     "an INT32 bias is too large for its scale, so the scale of the weights is widened", bias_clip},
    {"unfolded-batch-norm", "INT8, UINT8, FP8",
     "a BatchNormalization after a layer scales its channels differently after rounding", unfolded_batch_norm},
    {"weight-channel-spread", "INT8, UINT8, FP8", "output channels that share a scale differ 30 times or more",
     weight_channel_spread},
    {"weight-outliers", "INT8, UINT8, FP8", "a few large weights set the scale of their channel", weight_outliers},
    {"block-outliers", "NVFP4, MXFP8, MXFP4, INT4", "one value sets the scale of its block, too coarse for the others",
     block_outliers},
    {"place-outliers", "INT8, UINT8, FP8", "a few places, such as the first token, set the scale of an activation",
     place_outliers},
    {"residual-outliers", "INT8, UINT8, FP8",
     "the same few channels of a residual stream set the scale of several activations", residual_outliers},
    {"activation-outliers", "INT8, UINT8, FP8", "a few large values set the scale of an activation",
     activation_outliers},
    {"concat-scales", "INT8, UINT8, FP8", "a Concat joins branches that differ 8 times or more under one range",
     concat_scales},
    {"outlier-channels", "INT8, UINT8, FP8", "a few channels set the scale of an activation", outlier_channels},
    {"channel-spread", "INT8, UINT8, FP8", "channels of an activation differ so much that small ones fall below 20 dB",
     channel_spread},
    {"range-per-sample", "INT8, UINT8, FP8", "the range is far too wide for most samples", range_per_sample},
    {"unused-levels", "INT8, UINT8", "the range is far wider than the values", unused_levels},
    {"bias-shift", "INT8, UINT8, FP8", "the mean of many output channels is off", bias_shift},
    {"attention-probabilities", "INT8, UINT8, FP8", "half of the probabilities of an attention round to zero",
     attention_probabilities},
    {"residual-scales", "INT8, UINT8, FP8", "an Add joins branches of very different size", residual_scales},
    {"gating", "INT8, UINT8, FP8",
     "a squeeze-and-excite gate scales every pixel of a feature map, so its error spreads", gating},
    {"small-negative-tail", "INT8, UINT8, FP8", "the negative tail of SiLU or GELU becomes zero", small_negative_tail},
    {"one-sided-data", "INT8, UINT8, FP8", "half of a symmetric range is unused", one_sided_data},
    {kPairSaturation, "INT8, UINT8, FP8",
     "sums of two products are beyond 16 bits: ONNX Runtime and OpenVINO saturate them on x86 CPUs without VNNI",
     pair_saturation},
    {"depthwise", "INT8, UINT8, FP8", "a depthwise layer sums few products, so errors do not average out", depthwise},
    {"first-or-last-layer", "INT8, UINT8, FP8", "the layer reads the input or computes the output of the network",
     first_or_last_layer},
};

// Those that do not look at one layer alone.
constexpr CauseName kOfNetwork[] = {
    {kEngineLoss, "all", "an engine computes the file worse than its simulation, in a fusion or kernel of its own"},
    {"close-decision", "all",
     "an ArgMax, ArgMin or TopK inside the network picks another place, although its input is close"},
    {"amplified-values", "INT8, UINT8, FP8",
     "a norm or logarithm makes small values count, for which the scale in front of it is too coarse"},
    {"large-logits", "all", "scores that a Softmax reads are so large that rounding them changes probabilities"},
    {"lost-limit", "FP16, BF16", "TensorRT-RTX drops a limit of a Clip after a convolution"},
    {"diffuse", "all", "no single layer is bad: the usual errors of many layers add up"},
    {"decision-boundary", "all", "the output is close, but the two largest scores were nearly equal"},
};

/// A likely cause of a tenth of the damage or of the network is among these.
bool explains_damage(const NetworkFacts& facts, std::span<const Cause> found) {
  constexpr double kLittle = 0.1;
  return std::ranges::any_of(found, [&](const Cause& cause) {
    const auto layer = std::ranges::find(facts.layers, cause.layer, &LayerFacts::name);
    const double share = cause.share.value_or(layer == facts.layers.end() ? 1 : layer->share);
    return cause.confidence >= kLikely && share >= kLittle;
  });
}

/// Of the damage: of the layers with likely causes.
double explained_share(const NetworkFacts& facts, std::span<const Cause> found) {
  double explained = 0;
  for (const LayerFacts& layer : facts.layers) {
    const bool likely = std::ranges::any_of(
        found, [&](const Cause& cause) { return cause.layer == layer.name && cause.confidence >= kLikely; });
    if (likely) explained += layer.share;
  }
  return std::min(explained, 1.0);
}

/// What no single layer is to blame for, beside the causes `found` of layers.
std::optional<Cause> of_network(const NetworkFacts& facts, std::span<const Cause> found) {
  constexpr double kGood = 1e-3;  // 30 dB
  // The layers explain what calibrated samples lose, and not what a range does to others.
  if (facts.output_noise > 0 && facts.unseen_noise > 4 * facts.output_noise) {
    return Cause{"calibration-unrepresentative",
                 {},
                 {},
                 0.9,
                 {{"SQNR on samples that did not calibrate", db_of(facts.unseen_noise), "dB"},
                  {"SQNR on samples that calibrated", db_of(facts.output_noise), "dB"}},
                 fmt::format("samples outside calibration have {:.1f} dB, those in it {:.1f} dB: some reach beyond the "
                             "calibrated ranges. Calibrate on more samples, or on more typical ones.",
                             db_of(facts.unseen_noise), db_of(facts.output_noise)),
                 {}};
  }
  if (facts.top1_agreement && *facts.top1_agreement < 1 && facts.output_noise < kGood) {
    return Cause{
        "decision-boundary",
        {},
        {},
        0.6,
        {{"SQNR of the output", db_of(facts.output_noise), "dB"},
         {"top-1 agreement", 100 * *facts.top1_agreement, "%"}},
        "the output is close to the FP32 one. The class changes only where the two largest scores were nearly equal.",
        {"keep-high"}};
  }
  // As near to equal shares as layers of different size come. Nothing is said where one layer does half of the damage.
  const double spread = facts.depth == 0 ? 0 : std::max(0.2, std::min(0.6, 2.5 / static_cast<double>(facts.depth)));
  // Errors that add up and grow on their way, and no more: an output far below is the work of something else.
  constexpr double kMostGrowth = 100;
  const double sum = static_cast<double>(facts.depth) * facts.worst_own_noise;
  const bool even = facts.depth >= 2 && facts.largest_share > 0 && facts.largest_share < spread &&
                    facts.output_noise <= kMostGrowth * sum;
  const auto has_range = [](const LayerFacts& layer) {
    const TensorFacts* data = activation_of(layer);
    return data != nullptr && data->grid && data->grid->block == 0 && is_scaled(layer);
  };
  const bool ranges = std::ranges::any_of(facts.layers, has_range);
  if (even && facts.worst_beyond_usual < 1 && !explains_damage(facts, found)) {
    return Cause{"diffuse",
                 {},
                 {},
                 0.6,
                 {{"layers", static_cast<double>(facts.depth), ""},
                  {"largest share of one layer", 100 * facts.largest_share, "%"},
                  {"SQNR of the worst layer", db_of(facts.worst_own_noise), "dB"}},
                 fmt::format("no single layer is bad. Each has only the usual error of its format ({:.1f} dB at "
                             "worst), and the errors of {} add up.",
                             db_of(facts.worst_own_noise), plural(facts.depth, "layer")),
                 ranges ? std::vector<std::string>{"bias-correction", "range", "keep-high"}
                        : std::vector<std::string>{"keep-high"}};
  }
  return std::nullopt;
}

}  // namespace
}  // namespace causes

std::vector<CauseName> cause_names() {
  std::vector<CauseName> names;
  for (const causes::Row& row : causes::kCauses) names.push_back({row.id, row.formats, row.text});
  names.insert(names.end(), std::begin(causes::kOfNetwork), std::end(causes::kOfNetwork));
  return names;
}

std::optional<std::string_view> cause_text(std::string_view id) {
  for (const CauseName& cause : cause_names()) {
    if (cause.id == id) return cause.text;
  }
  return std::nullopt;
}

std::vector<Cause> find_causes(const NetworkFacts& facts, std::span<const CauseFinder> own) {
  if (!facts.needed) return {};
  std::vector<Cause> found = causes::engine_loss(facts);
  std::ranges::move(causes::close_decisions(facts), std::back_inserter(found));
  std::ranges::move(causes::large_logits(facts), std::back_inserter(found));
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
  // What makes the values small, such as large channels of a stream, may be a cause of the layers that read it.
  for (Cause& cause : causes::amplified_values(facts)) {
    cause.share = 1 - causes::explained_share(facts, found);
    found.push_back(std::move(cause));
  }
  if (auto whole = causes::of_network(facts, found)) found.push_back(std::move(*whole));
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
