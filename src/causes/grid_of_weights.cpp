// The grid of a weight against its values, and what the rounding of both does to the mean of a channel.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "base/format_definition.h"
#include "causes/cause.h"

namespace vernier::causes {
namespace {

constexpr double kBadChannel = 3e-3;  // 25 dB
constexpr double kManyChannels = 0.05;

/// Noise over signal from which on a channel is bad: 25 dB, or what is more than Gaussian weights have on such a grid.
double bad_noise(const TensorFacts& weight) { return std::max(kBadChannel, 1.25 * weight.gaussian_noise); }

bool has_eight_bits(Format format) {
  return format == Format::Int8 || format == Format::UInt8 || format == Format::Float8E4M3FN ||
         format == Format::Float8E5M2;
}

/// Share of the output channels whose weights keep less.
double bad_channels(const TensorFacts& weight, const std::vector<double>& noises) {
  if (noises.empty()) return 0;
  const double limit = bad_noise(weight);
  const auto bad = std::ranges::count_if(noises, [&](double noise) { return noise > limit; });
  return static_cast<double>(bad) / static_cast<double>(noises.size());
}

/// A few large weights, more than as many Gaussian ones have, spoil some channels, or all of them a little.
bool heavy_tailed(const TensorFacts& weight, const std::vector<double>& noises) {
  if (bad_channels(weight, noises) < kManyChannels) return false;
  if (weight.gaussian_noise <= 0) return true;
  // The largest of a few values varies: of one scale by less than a factor of 3, of many on average by little.
  const double one = 3 * weight.gaussian_noise;
  const auto channels = static_cast<double>(noises.size());
  const auto spoiled = std::ranges::count_if(noises, [&](double noise) { return noise > one; });
  if (static_cast<double>(spoiled) >= kManyChannels * channels) return true;
  const double sum = std::accumulate(noises.begin(), noises.end(), 0.0);
  const auto scales = static_cast<double>(std::max<std::size_t>(weight.scales, 1));
  return sum / channels > (1.5 + 2 / std::sqrt(scales)) * weight.gaussian_noise;
}

/// Channels, however few, whose ordinary weights a large one spoils so far that they make most of the noise of all.
bool few_make_most(const TensorFacts& weight) {
  if (weight.gaussian_noise <= 0) return false;
  double all = 0, spoiled = 0;
  for (const double noise : weight.ordinary_noise) {
    all += noise;
    if (noise > 10 * bad_noise(weight)) spoiled += noise;
  }
  return spoiled > all / 2;
}

/// Noise of the channels that large weights spoil; empty: they do not. Noise that only ordinary weights show counts
/// where the result shows it too, which a large weight may well make most of: 30 dB, or 5 dB less than Gaussian ones.
std::vector<double> spoiled_channels(const LayerFacts& layer, const TensorFacts& weight) {
  if (heavy_tailed(weight, weight.weight_noise)) return weight.weight_noise;
  const double poor = kPoorNoise / 10;
  const double limit = weight.gaussian_noise > 0 ? std::min(poor, 3 * weight.gaussian_noise) : poor;
  const bool shows = layer.weights_noise.value_or(0) >= limit;
  const bool few = few_make_most(weight) || heavy_tailed(weight, weight.ordinary_noise);
  return shows && few ? weight.ordinary_noise : std::vector<double>();
}

/// The largest and the smallest channel (not zero) that share a scale, of the scale where they differ most.
std::pair<double, double> most_unequal(const TensorFacts& weight) {
  std::map<std::size_t, std::pair<double, double>> ends;
  for (std::size_t c = 0; c < weight.channels.size(); ++c) {
    const auto reach = static_cast<double>(weight.channels[c]);
    if (!(reach > 0)) continue;
    const std::size_t scale = weight.channel_scale.empty() ? 0 : weight.channel_scale[c];
    auto& [most, least] = ends.try_emplace(scale, reach, reach).first->second;
    most = std::max(most, reach);
    least = std::min(least, reach);
  }
  std::pair<double, double> found{0, 0};
  double widest = 0;
  for (const auto& [scale, pair] : ends) {
    if (pair.first / pair.second > widest) found = pair;
    widest = std::max(widest, pair.first / pair.second);
  }
  return found;
}

}  // namespace

Finding weight_grid(const LayerFacts& layer) {
  const TensorFacts* weight = is_scaled(layer) ? weight_of(layer) : nullptr;
  if (weight == nullptr || !weight->lattice || !weight->grid || !weights_to_blame(layer)) return {};
  const double used = static_cast<double>(weight->grid->scale.front());
  if (std::abs(used / *weight->lattice - 1) < 1e-4) return {};
  if (bias_clip(layer)) return {};  // which asks for that step, whatever the weights lie on
  // All channels together may look fine where only small ones are bad, which a scale behind can make large again.
  if (layer.weights_noise && *layer.weights_noise < 1e-4 && bad_channels(*weight, weight->weight_noise) < kManyChannels)
    return {};
  return of(layer, weight->name, 0.95, {{"scale of its weights", *weight->lattice, ""}, {"scale in use", used, ""}},
            fmt::format("its weights already are multiples of {:.5g}, as after training for quantization, and are "
                        "rounded again to multiples of {:.5g}.",
                        *weight->lattice, used),
            {"weight-grid"});
}

Finding weight_channel_spread(const LayerFacts& layer) {
  const TensorFacts* weight = is_scaled(layer) ? weight_of(layer) : nullptr;
  if (weight == nullptr || !weight->grid || weight->grid->block > 0 || weight->channels.size() < 2) return {};
  if (!weights_to_blame(layer)) return {};
  const auto [most, least] = most_unequal(*weight);
  if (!(least > 0) || most < 30 * least) return {};
  // The steps of floats shrink with the values.
  const Format format = weight->grid->format;
  const FormatDefinition& definition = definition_of(format);
  const double scale = definition.floats == nullptr ? 0 : most / static_cast<double>(definition.floats->max_finite);
  if (scale > 0 && noise_at(format, scale, least / 3) < kPoorNoise) return {};
  return of(layer, weight->name, most > 100 * least ? 0.92 : 0.8,
            {{"largest channel", most, ""}, {"smallest channel", least, ""}, {"spread", most / least, "x"}},
            fmt::format("its weights reach {:.3g} in one output channel and {:.3g} in another, {:.0f} times less. The "
                        "shared scale is too coarse for the small ones.",
                        most, least, most / least),
            {"per-channel", "equalize", "unfold-norm"});
}

Finding weight_outliers(const LayerFacts& layer) {
  const TensorFacts* weight = is_scaled(layer) ? weight_of(layer) : nullptr;
  if (weight == nullptr || weight->weight_noise.empty() || weight->lattice || !weights_to_blame(layer)) return {};
  const std::vector<double> noises = spoiled_channels(layer, *weight);
  if (noises.empty() || block_outliers(layer)) return {};
  const double share = bad_channels(*weight, noises);
  const double worst = std::ranges::max(noises);
  std::vector<CauseFigure> figures{{"bad channels", 100 * share, "%"}, {"worst channel", db_of(worst), "dB"}};
  if (weight->gaussian_noise > 0) figures.push_back({"Gaussian weights", db_of(weight->gaussian_noise), "dB"});
  return of(layer, weight->name, weight->grid && weight->grid->scale.size() > 1 ? 0.85 : 0.55, std::move(figures),
            fmt::format("the weights of {:.0f} % of its output channels fall below {:.0f} dB. A few large weights set "
                        "a scale that is too coarse for the rest.",
                        100 * share, db_of(bad_noise(*weight))),
            {"split-channels", "equalize", "range", "round-weights"});
}

Finding bias_shift(const LayerFacts& layer) {
  constexpr double kLargeShare = 0.3;
  if (!has_eight_bits(layer.format) || layer.mean_error.empty() || layer.output_rms <= 0) return {};
  if (layer.own_noise <= usual_noise(layer.format)) return {};
  const double limit = 0.05 * layer.output_rms;
  const auto shifted = std::ranges::count_if(layer.mean_error, [&](double error) { return std::abs(error) > limit; });
  const double share = static_cast<double>(shifted) / static_cast<double>(layer.mean_error.size());
  if (share < 0.1) return {};
  // Where the errors themselves are large, their means are too: of a random error a correction takes next to nothing.
  const double shift = std::transform_reduce(layer.mean_error.begin(), layer.mean_error.end(), 0.0, std::plus<>(),
                                             [](double error) { return error * error; }) /
                       static_cast<double>(layer.mean_error.size());
  const double error_power = layer.own_noise * layer.output_rms * layer.output_rms;
  if (!(shift >= kLargeShare * error_power)) return {};
  const double of_error = std::min(1.0, shift / error_power);
  const double worst = std::abs(*std::ranges::max_element(layer.mean_error, {}, [](double e) { return std::abs(e); }));
  return of(layer, {}, 0.5,
            {{"shifted channels", 100 * share, "%"},
             {"largest shift", worst, ""},
             {"share of mean errors", 100 * of_error, "%"}},
            fmt::format(
                "{:.0f} % of its output channels have a mean error above 5 % of the output. Mean errors make up {:.0f} "
                "% of the layer's error, and do not average out.",
                100 * share, 100 * of_error),
            {"bias-correction"});
}

Finding bias_clip(const LayerFacts& layer) {
  constexpr double kLargestCode = 1073741824;  // 2^30, half of what is left for the sum itself
  const TensorFacts* weight = is_scaled(layer) ? weight_of(layer) : nullptr;
  if (weight == nullptr || !layer.bias_steps || *layer.bias_steps <= kLargestCode || !weights_to_blame(layer))
    return {};
  const double wider = *layer.bias_steps / kLargestCode;
  return of(layer, weight->name, wider > 4 ? 0.87 : 0.6,
            {{"bias in units of the scale of its sum", *layer.bias_steps, ""},
             {"largest that fits", kLargestCode, ""},
             {"scale of the weights is wider", wider, "x"}},
            fmt::format("its bias is {:.3g} times the scale of its sum, more than 32 bits can hold. Either the scale "
                        "of the weights gets {:.3g} times wider, or the bias is clipped.",
                        *layer.bias_steps, wider),
            {});
}

}  // namespace vernier::causes
