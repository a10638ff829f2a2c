// What transformers are known for: channels and tokens that stand out all along the residual stream, streams that grow,
// large scores in front of a Softmax, and blocks with one large value.
// Sources: T. Dettmers et al., "LLM.int8()" (2022), outlier channels; M. Sun et al., "Massive Activations in Large
// Language Models" (2024), tokens; Y. Bondarenko et al., "Quantizable Transformers" (2023), scores of attention.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "base/format_definition.h"
#include "causes/cause.h"
#include "numerics/grid.h"
#include "vernier/format.h"

namespace vernier::causes {
namespace {

/// Noise over signal of a value a third as large as `typical`, in a block whose scale `largest` sets.
double noise_in_block(Format format, double typical, double largest) {
  const double highest = is_integer(format) ? code_range(format).highest : largest_of(format);
  if (highest <= 0 || typical <= 0) return 0;
  return noise_at(format, largest / highest, typical / 3);
}

/// An input of layers, and its outlier channels.
struct Outliers {
  std::size_t width = 0;
  bool of_stream = false;
  std::vector<std::size_t> channels;

  /// Half of the channels of either, and more, are the same: of one stream, or two at least, which is no chance.
  bool alike(const Outliers& other) const {
    std::vector<std::size_t> both;
    std::ranges::set_intersection(channels, other.channels, std::back_inserter(both));
    const bool one_stream = of_stream && other.of_stream;
    return width == other.width && (one_stream ? !both.empty() : (of_stream || other.of_stream) && both.size() > 1) &&
           2 * both.size() >= std::max(channels.size(), other.channels.size());
  }
};

Finding block_outliers_of_weights(const LayerFacts& layer) {
  const TensorFacts* weight = weight_of(layer);
  if (weight == nullptr || !weight->blocks || weight->blocks->blocks == 0 || !weights_to_blame(layer)) return {};
  const BlockMagnitudes& blocks = *weight->blocks;
  const double share = static_cast<double>(blocks.spoiled) / static_cast<double>(blocks.blocks);
  if (share < 0.05) return {};
  return of(layer, weight->name, share > 0.2 ? 0.9 : 0.75,
            {{"spoiled blocks", 100 * share, "%"},
             {"largest of the worst block", blocks.largest, ""},
             {"ordinary values of that block", blocks.others, ""}},
            fmt::format("in {:.0f} % of the blocks of its weights a large value sets the scale. It reaches {:.3g} next "
                        "to values near {:.2g}, which get only a few levels.",
                        100 * share, blocks.largest, blocks.others),
            {"rotate-stream", "round-weights"});
}

Finding block_outliers_of_data(const LayerFacts& layer) {
  const auto block = static_cast<std::size_t>(std::max(definition_of(layer.format).block, 0));
  if (block == 0 || !activations_to_blame(layer)) return {};
  for (const TensorFacts& input : layer.inputs) {
    if (input.constant || input.channels.size() < block) continue;
    std::size_t spoiled = 0, blocks = 0;
    double largest = 0, typical = 1;
    for (std::size_t first = 0; first + block <= input.channels.size(); first += block, ++blocks) {
      std::vector<float> sorted(input.channels.begin() + std::ptrdiff_t(first),
                                input.channels.begin() + std::ptrdiff_t(first + block));
      std::ranges::sort(sorted);
      const auto median = static_cast<double>(sorted[block / 2]);
      const auto most = static_cast<double>(sorted.back());
      if (noise_in_block(layer.format, median, most) <= 4 * usual_noise(layer.format)) continue;
      ++spoiled;
      if (most * typical > largest * median) largest = most, typical = median;
    }
    const double share = static_cast<double>(spoiled) / static_cast<double>(blocks);
    if (spoiled == 0 || share < 0.02) continue;
    return of(layer, input.name, share > 0.1 ? 0.88 : 0.7,
              {{"spoiled blocks", 100 * share, "%"},
               {"largest channel of the worst block", largest, ""},
               {"median channel of that block", typical, ""}},
              fmt::format("in {:.0f} % of the blocks of '{}' one channel sets the scale. It reaches {:.3g}; the median "
                          "channel of {} reaches {:.2g}.",
                          100 * share, printable(input.name), largest, block, typical),
              on_stream(layer, {"smooth", "rotate-stream"}));
  }
  return {};
}

}  // namespace

void count_alike_outliers(std::vector<LayerFacts>& layers) {
  std::map<std::string, Outliers> read;
  for (const LayerFacts& layer : layers) {
    for (const TensorFacts& input : layer.inputs) {
      if (!input.constant)
        read[input.name] = {input.channels.size(), layer.reads_stream, large_channels(input.channels)};
    }
  }
  for (LayerFacts& layer : layers) {
    for (const TensorFacts& input : layer.inputs) {
      const auto own = read.find(input.name);
      if (own == read.end()) continue;
      const auto count = std::ranges::count_if(
          read, [&](const auto& other) { return &other.second != &own->second && own->second.alike(other.second); });
      layer.alike_outliers = std::max(layer.alike_outliers, static_cast<std::size_t>(count));
    }
  }
}

Finding residual_outliers(const LayerFacts& layer) {
  if (layer.alike_outliers == 0 || place_outliers(layer)) return {};
  Finding found = outliers_of_channels(layer);
  if (!found) return {};
  found->confidence = 0.92;
  found->figures.push_back({"other activations with these channels", static_cast<double>(layer.alike_outliers), ""});
  found->sentence +=
      fmt::format(" {} {} the same outliers, so they travel along the residual stream.",
                  plural(layer.alike_outliers, "other activation"), layer.alike_outliers == 1 ? "has" : "have");
  return found;
}

Finding place_outliers(const LayerFacts& layer) {
  const TensorFacts* data = is_scaled(layer) ? quantized(layer) : nullptr;
  if (data == nullptr || !data->places || !activations_to_blame(layer)) return {};
  const PlaceMagnitudes& places = *data->places;
  if (places.large == 0 || 4 * places.large > places.places || 2 * places.in_channels > places.large) return {};
  if (ordinary_noise(*data, places.typical) < kPoorNoise / 10) return {};
  return of(
      layer, data->name, 0.93,
      {{"largest place", places.largest, ""},
       {"median place", places.typical, ""},
       {"large places", static_cast<double>(places.large), ""},
       {"places", static_cast<double>(places.places), ""}},
      fmt::format("{} of {} of '{}' reach {:.4g}; the median one reaches {:.3g}. A few tokens set the scale of all.",
                  places.large, plural(static_cast<std::size_t>(places.places), "place"), printable(data->name),
                  places.largest, places.typical),
      on_stream(layer, {"smooth", "rotate-stream"}));
}

Finding block_outliers(const LayerFacts& layer) {
  if (!is_scaled(layer)) return {};
  if (Finding found = block_outliers_of_weights(layer)) return found;
  return block_outliers_of_data(layer);
}

Finding residual_overflow(const LayerFacts& layer) {
  if (!is_narrow_float(layer) || !layer.adds_branch || layer.overflowed == 0 || layer.outputs.empty()) return {};
  const TensorFacts& stream = layer.outputs.front();
  const double limit = largest_of(layer.format);
  const auto most = static_cast<double>(stream.values.absmax());
  const bool masks =
      stream.mask || std::ranges::any_of(layer.inputs, [](const TensorFacts& in) { return in.mask.has_value(); });
  if (most <= limit || masks) return {};
  return of(layer, stream.name, 0.96,
            {{"largest magnitude", most, ""},
             {"largest of the format", limit, ""},
             {"values beyond", static_cast<double>(layer.overflowed), ""}},
            fmt::format("the residual stream grows to {:.4g} in '{}', beyond the {} limit of {:g}.", most,
                        printable(stream.name), format_title(layer.format), limit),
            {"scale-stream"});
}

bool magnifies_error(const SoftmaxFacts& softmax) {
  constexpr double kLarge = 4;  // probabilities of smaller scores are about as exact as these
  constexpr double kMagnified = 4;
  if (softmax.of_weights && needs_scale(softmax.format)) return false;  // the classes of a network: its output
  return softmax.score >= kLarge && softmax.behind > kMagnified * softmax.before;
}

std::vector<Cause> large_logits(const NetworkFacts& facts) {
  constexpr double kMatters = 0.1, kMostOfIt = 0.5;
  std::vector<Cause> found;
  for (const SoftmaxFacts& softmax : facts.softmaxes) {
    if (!magnifies_error(softmax) || softmax.share < kMatters) continue;
    Cause& cause = found.emplace_back(
        Cause{"large-logits",
              softmax.layer,
              {},
              softmax.share > kMostOfIt ? 0.94 : 0.9,
              {{"typical score", softmax.score, ""},
               {"off by", softmax.off, ""},
               {"SQNR of the scores", db_of(softmax.before), "dB"},
               {"SQNR of the probabilities", db_of(softmax.behind), "dB"}},
              fmt::format("the Softmax of '{}' reads scores of about {:.3g}. They have {:.1f} dB and its probabilities "
                          "{:.1f} dB: an error of {:.2g} in a score changes a probability by a factor of {:.3g}. With "
                          "exact scores, {:.0f} % of the output's error is gone.",
                          printable(softmax.node), softmax.score, db_of(softmax.before), db_of(softmax.behind),
                          softmax.off, std::exp(softmax.off), 100 * softmax.share),
              {"keep-high"}});
    cause.share = softmax.share;
  }
  return found;
}

}  // namespace vernier::causes
