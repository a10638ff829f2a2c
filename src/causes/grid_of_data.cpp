// The grid of an activation against its values: clipped, too coarse for most of them, or not used.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "causes/cause.h"
#include "numerics/fitting_scale.h"
#include "numerics/grid.h"
#include "numerics/range_methods.h"
#include "vernier/format.h"

namespace vernier::causes {
namespace {

/// Steps from zero to the ends of the values, on the sides of zero that they have, and those of the grid there.
struct Levels {
  double used = 0, given = 0;
};

Levels levels_of(const TensorFacts& tensor) {
  const auto step = static_cast<double>(tensor.grid->scale.front());
  const GridEnds ends = grid_ends(*tensor.grid, 0);
  const double low = std::min(static_cast<double>(tensor.values.min), 0.0);
  const double high = std::max(static_cast<double>(tensor.values.max), 0.0);
  return {(high - low) / step, ((high > 0 ? ends.high : 0) - (low < 0 ? ends.low : 0)) / step};
}

/// Share of a depthwise layer's error that its `drowned` input channels make: each result has one of them, whose
/// rounding grows by its own weights. nullopt: the layer mixes channels, or their weights are not known.
std::optional<double> share_of_error(const LayerFacts& layer, const TensorFacts& data, double step,
                                     const std::vector<bool>& drowned) {
  const TensorFacts* weight = weight_of(layer);
  if (!layer.depthwise || weight == nullptr || weight->channels.size() != data.channels.size()) return std::nullopt;
  double all = 0, of_drowned = 0;
  for (std::size_t c = 0; c < drowned.size(); ++c) {
    const auto largest = static_cast<double>(data.channels[c]), factor = static_cast<double>(weight->channels[c]);
    const double error = std::min(step * step / 12, largest * largest) * factor * factor;
    all += error;
    if (drowned[c]) of_drowned += error;
  }
  return all > 0 ? std::optional(of_drowned / all) : std::nullopt;
}

}  // namespace

Finding calibration_unrepresentative(const LayerFacts& layer) {
  const TensorFacts* data = is_scaled(layer) ? quantized(layer) : nullptr;
  if (data == nullptr) return {};
  const GridNoise noise = grid_noise(*data);
  const auto grid_end =
      static_cast<double>(data->grid->scale.front()) * (data->grid->format == Format::UInt8 ? 255 : 127);
  const double ratio = static_cast<double>(data->values.absmax()) / grid_end;
  // Absolute maxima clip nothing of what was seen: what is clipped was not in the calibration samples.
  if (noise.clipped_share < 0.005 || ratio < 1.3 || noise.clipping < noise.rounding || !data->first_half) return {};
  const double halves = std::abs(static_cast<double>(*data->first_half) / static_cast<double>(*data->second_half) - 1);
  if (halves < 0.1) return {};
  return of(
      layer, data->name, 0.6,
      {{"largest value", static_cast<double>(data->values.absmax()), ""},
       {"end of the grid", grid_end, ""},
       {"halves of the samples differ", 100 * halves, "%"}},
      fmt::format(
          "'{}' reaches {:.4g}, {:.1f} times its calibrated range. Calibrate on more samples, or on more typical ones.",
          printable(data->name), data->values.absmax(), ratio),
      {"range"});
}

Finding over_saturation(const LayerFacts& layer) {
  const TensorFacts* data = is_scaled(layer) ? quantized(layer) : nullptr;
  if (data == nullptr || data->mask || data->infinite > 0 || !activations_to_blame(layer)) return {};
  const GridNoise noise = grid_noise(*data);
  if (noise.clipping < 1e-3 || noise.clipping < noise.rounding) return {};
  return of(layer, data->name, noise.clipping > 10 * noise.rounding ? 0.93 : 0.8,
            {{"clipped", 100 * noise.clipped_share, "%"},
             {"share of the error that is clipping", 100 * noise.clipping / (noise.clipping + noise.rounding), "%"},
             {"largest value", static_cast<double>(data->values.absmax()), ""}},
            fmt::format("{:.2g} % of '{}' is clipped, and clipping makes {:.0f} % of its error. The range is too "
                        "narrow for these samples.",
                        100 * noise.clipped_share, printable(data->name),
                        100 * noise.clipping / (noise.clipping + noise.rounding)),
            {"range"});
}

Finding activation_outliers(const LayerFacts& layer) {
  const TensorFacts* data = is_scaled(layer) ? quantized(layer) : nullptr;
  if (data == nullptr || !activations_to_blame(layer) || place_outliers(layer)) return {};
  const double typical = magnitude_at(data->values, 0.9999);
  const auto most = static_cast<double>(data->values.absmax());
  if (typical <= 0 || most < 4 * typical) return {};
  const double noise = ordinary_noise(*data, typical);
  if (noise < kPoorNoise / 10) return {};
  return of(layer, data->name, noise > kPoorNoise ? 0.88 : 0.7,
            {{"largest magnitude", most, ""},
             {"99.99 % are below", typical, ""},
             {"SQNR of ordinary values", db_of(noise), "dB"}},
            fmt::format("a few values of '{}' reach {:.4g}, but 99.99 % stay below {:.4g}. The range fits the "
                        "outliers, so other values get only a few levels.",
                        printable(data->name), most, typical),
            {"range"});
}

Finding outlier_channels(const LayerFacts& layer) {
  if (layer.alike_outliers > 0 || place_outliers(layer)) return {};
  return outliers_of_channels(layer);
}

Finding outliers_of_channels(const LayerFacts& layer) {
  const TensorFacts* data = is_scaled(layer) ? quantized(layer) : nullptr;
  if (data == nullptr || data->channels.size() < 4 || !activations_to_blame(layer)) return {};
  const std::size_t large = large_channels(data->channels).size();
  if (large == 0) return {};
  std::vector<float> sorted = data->channels;
  std::ranges::sort(sorted);
  const auto median = static_cast<double>(sorted[sorted.size() / 2]);
  const auto most = static_cast<double>(sorted.back());
  if (ordinary_noise(*data, median) < kPoorNoise / 10) return {};
  return of(layer, data->name, 0.9,
            {{"largest channel", most, ""},
             {"median channel", median, ""},
             {"large channels", static_cast<double>(large), ""}},
            fmt::format("{} of {} of '{}' {} {:.4g}; the median channel reaches {:.3g}. The shared scale is too "
                        "coarse for most channels.",
                        large, plural(sorted.size(), "channel"), printable(data->name),
                        large == 1 ? "reaches" : "reach", most, median),
            on_stream(layer, {"smooth", "rotate-stream", "split-channels"}));
}

Finding channel_spread(const LayerFacts& layer) {
  const TensorFacts* data = is_scaled(layer) ? quantized(layer) : nullptr;
  if (data == nullptr || data->channels.size() < 4 || !is_integer(data->grid->format)) return {};
  if (outliers_of_channels(layer)) return {};  // few are large, and that says more
  // A sum over channels is as good as its large ones; where each result has a channel of its own, the small are lost.
  if (!layer.depthwise && (!activations_to_blame(layer) || layer.own_noise < kPoorNoise)) return {};
  const auto step = static_cast<double>(data->grid->scale.front());
  std::vector<bool> drowned;
  for (const float channel : data->channels) {
    const double rms = static_cast<double>(channel) / 3;  // of values that reach so far
    drowned.push_back(channel > 0 && step * step / 12 > kPoorNoise * rms * rms);
  }
  const auto lost = std::ranges::count(drowned, true);
  const float most = std::ranges::max(data->channels);
  float least = most;
  for (const float channel : data->channels) least = channel > 0 ? std::min(least, channel) : least;
  const auto all = data->channels.size();
  const double share = share_of_error(layer, *data, step, drowned).value_or(0);
  const bool few = static_cast<double>(lost) < 0.1 * static_cast<double>(all);
  if (few && (share < 0.5 || layer.own_noise < kPoorNoise / 3)) return {};
  std::vector<CauseFigure> figures{{"channels below 20 dB", static_cast<double>(lost), ""},
                                   {"channels", static_cast<double>(all), ""},
                                   {"largest channel", static_cast<double>(most), ""},
                                   {"smallest channel", static_cast<double>(least), ""},
                                   {"scale", step, ""}};
  if (few) figures.push_back({"share of the error in these channels", 100 * share, "%"});
  const std::string effect = few               ? fmt::format(" and make about {:.0f} % of its error", 100 * share)
                             : layer.depthwise ? ". A depthwise layer cannot average that out"
                                               : "";
  return of(layer, data->name, layer.depthwise ? 0.87 : 0.6, std::move(figures),
            fmt::format("the channels of '{}' reach from {:.3g} to {:.3g}. Their shared scale is {:.2g}, too coarse "
                        "for {} of {}: they fall below 20 dB{}.",
                        printable(data->name), least, most, step, lost, plural(all, "channel"), effect),
            on_stream(layer, {"equalize", "smooth", "rotate-stream"}));
}

Finding concat_scales(const LayerFacts& layer) {
  const TensorFacts* data = is_scaled(layer) ? quantized(layer) : nullptr;
  if (data == nullptr || data->branches.size() < 2 || !activations_to_blame(layer)) return {};
  const auto [small, large] = std::ranges::minmax(data->branches, {}, &Branch::absmax);
  if (small.absmax <= 0 || small.rms <= 0 || large.absmax < 8 * small.absmax) return {};
  const bool floats = data->grid->format == Format::Float8E4M3FN || data->grid->format == Format::Float8E5M2;
  const double step = static_cast<double>(data->grid->scale.front());
  const double noise = step * step / 12 / (small.rms * small.rms);
  if (floats || noise < kPoorNoise) return {};
  return of(layer, data->name, 0.91,
            {{"ratio of the branches", large.absmax / small.absmax, "x"},
             {"largest of the large one", large.absmax, ""},
             {"largest of the small one", small.absmax, ""},
             {"SQNR of the small one", db_of(noise), "dB"}},
            fmt::format("its input '{}' joins '{}', up to {:.4g}, and '{}', below {:.3g}. One {} range cannot hold "
                        "both: its rounding error is {:.0f} % of the smaller one.",
                        printable(data->name), printable(large.name), large.absmax, printable(small.name), small.absmax,
                        format_title(data->grid->format), 100 * std::sqrt(noise)),
            {"range"});
}

Finding range_per_sample(const LayerFacts& layer) {
  const TensorFacts* data = is_scaled(layer) ? quantized(layer) : nullptr;
  if (data == nullptr || data->samples.size() < 4) return {};
  if (!std::ranges::all_of(data->samples, [](float largest) { return std::isfinite(largest); })) return {};  // a mask
  const double count = static_cast<double>(data->samples.size());
  const double mean = std::accumulate(data->samples.begin(), data->samples.end(), 0.0) / count;
  double variance = 0;
  for (const float sample : data->samples) variance += std::pow(static_cast<double>(sample) - mean, 2) / count;
  if (mean <= 0 || std::sqrt(variance) < mean) return {};
  std::vector<float> sorted = data->samples;
  std::ranges::sort(sorted);
  const double ordinary = static_cast<double>(sorted[sorted.size() / 2]) / 3;  // of values that reach so far
  // The steps of floats shrink with the values.
  const bool fine = noise_at(data->grid->format, static_cast<double>(data->grid->scale.front()), ordinary) < kPoorNoise;
  if (!is_integer(data->grid->format) && fine) return {};
  return of(layer, data->name, 0.65, {{"spread of the samples' largest values", 100 * std::sqrt(variance) / mean, "%"}},
            fmt::format(
                "the largest value of '{}' varies by {:.0f} % between samples. One range for all is too wide for most.",
                printable(data->name), 100 * std::sqrt(variance) / mean),
            {"range"});
}

Finding unused_levels(const LayerFacts& layer) {
  constexpr double kFew = 64;
  const TensorFacts* data = is_scaled(layer) ? quantized(layer) : nullptr;
  if (data == nullptr || !is_integer(data->grid->format) || !activations_to_blame(layer)) return {};
  const auto [used, given] = levels_of(*data);
  if (used >= kFew || given < 4 * used) return {};
  const auto scale = static_cast<double>(data->grid->scale.front());
  const double fitting = fitting_scale(*data->grid, data->values.min, data->values.max);
  return of(layer, data->name, used < kFew / 4 ? 0.94 : 0.75,
            {{"levels used", used, ""},
             {"levels in the range", given, ""},
             {"scale", scale, ""},
             {"scale that fits the samples", fitting, ""}},
            fmt::format("the values of '{}' use {:.0f} of the {:.0f} levels of its range, which is {:.0f} times too "
                        "wide. Its scale is {:.4g}, and {:.4g} fits the samples.",
                        printable(data->name), used, given, given / std::max(used, 1.0), scale, fitting),
            {"range"});
}

Finding one_sided_data(const LayerFacts& layer) {
  const TensorFacts* data = layer.format == Format::Int8 ? quantized(layer) : nullptr;
  if (data == nullptr || !activations_to_blame(layer) || channel_spread(layer)) return {};
  const auto low = static_cast<double>(data->values.min);
  const auto high = static_cast<double>(data->values.max);
  const double smaller = std::min(std::abs(std::min(low, 0.0)), std::max(high, 0.0));
  if (smaller > 0.1 * std::max(std::abs(low), high) || grid_noise(*data).rounding < kPoorNoise / 3) return {};
  return of(layer, data->name, 0.4, {{"smallest value", low, ""}, {"largest value", high, ""}},
            fmt::format("'{}' lies between {:.3g} and {:.4g}. A symmetric range leaves half of its levels unused, "
                        "which costs one bit.",
                        printable(data->name), low, high),
            {});
}

Finding small_negative_tail(const LayerFacts& layer) {
  const TensorFacts* data = is_scaled(layer) ? quantized(layer) : nullptr;
  if (data == nullptr || !(data->values.min < 0) || !activations_to_blame(layer)) return {};
  const auto low = static_cast<double>(data->values.min);
  const bool tail = low > -0.4 && static_cast<double>(data->values.max) > -4 * low;
  std::int64_t negative = 0;
  std::int64_t lost = 0;
  const double half_step = step_at(data->grid->format, static_cast<double>(data->grid->scale.front()), 0) / 2;
  for (const Bin& bin : data->values.bins) {
    if (!(bin.middle() < 0)) continue;
    negative += bin.count;
    if (-static_cast<double>(bin.middle()) < half_step) lost += bin.count;
  }
  if (!tail || negative * 4 < data->values.count || lost * 10 < negative * 6) return {};
  const double share = static_cast<double>(lost) / static_cast<double>(negative);
  return of(layer, data->name, 0.6,
            {{"negative values that become zero", 100 * share, "%"}, {"smallest value", low, ""}},
            fmt::format("{:.0f} % of the negative values of '{}' round to zero. They reach down to {:.3g} only, as "
                        "after SiLU or GELU.",
                        100 * share, printable(data->name), low),
            {"range"});
}

}  // namespace vernier::causes
