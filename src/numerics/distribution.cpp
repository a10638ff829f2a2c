#include "numerics/distribution.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

namespace vernier {
namespace {

constexpr float kMaskGap = 64;           // at least as far above all other values
constexpr float kKnownMaskGap = 8;       // of a constant of the graph
constexpr float kMaskSpread = 4;         // its own values lie within this factor: where two masks met, they add up
constexpr float kMaskMagnitude = 1e6F;   // from here on any constant
constexpr float kMaskTolerance = 0.01F;  // scores were added to it
constexpr std::array kMaskConstants{-1e4F, -5e4F, -65504.0F, -1e5F};

float magnitude(const Bin& bin) { return std::abs(bin.middle()); }

bool is_mask_value(float value) {
  if (std::abs(value) >= kMaskMagnitude) return true;
  return std::ranges::any_of(kMaskConstants, [value](float constant) {
    const float tolerance = kMaskTolerance * std::abs(constant);
    return std::abs(value - constant) <= tolerance || std::abs(value - 2 * constant) <= 2 * tolerance;
  });
}

/// Whether scores up to `rest` were added to one of the constants, or to two of them that met.
bool is_known_mask(float value, float rest, std::span<const float> known) {
  const float size = std::abs(value);
  return std::ranges::any_of(known, [&](float constant) {
    const float tolerance = kMaskTolerance * constant + rest;
    return std::abs(size - constant) <= tolerance || std::abs(size - 2 * constant) <= 2 * tolerance;
  });
}

/// The share of a bin that lies below `at`.
double part_below(const Bin& bin, double at) {
  if (at <= bin.low && bin.high > bin.low) return 0;
  if (bin.high <= at && !(bin.high == bin.low && bin.high == at)) return 1;
  if (bin.high == bin.low) return 0;  // all of it at one place, which is not below itself
  return (at - bin.low) / (static_cast<double>(bin.high) - bin.low);
}

/// Takes the bins of the outermost mask out, if there is one.
bool take_outermost(Distribution& values, std::span<const float> known, bool only_known, Mask& mask) {
  if (values.bins.size() < 2) return false;
  const bool negative = magnitude(values.bins.front()) > magnitude(values.bins.back());
  const float top = negative ? magnitude(values.bins.front()) : magnitude(values.bins.back());
  const auto near_top = [&](const Bin& bin) {
    return (bin.middle() < 0) == negative && magnitude(bin) * kMaskSpread >= top;
  };
  float rest = 0;
  for (const Bin& bin : values.bins) {
    if (!near_top(bin)) rest = std::max({rest, std::abs(bin.low), std::abs(bin.high)});
  }
  if (rest == 0 || rest * kKnownMaskGap > top) return false;
  const bool far = !only_known && rest * kMaskGap <= top;
  for (const Bin& bin : values.bins) {
    const bool is_mask = (far && is_mask_value(bin.middle())) || is_known_mask(bin.middle(), rest, known);
    if (near_top(bin) && !is_mask) return false;
  }
  for (const Bin& bin : values.bins) {
    if (!near_top(bin)) continue;
    mask.low = mask.count == 0 ? bin.low : std::min(mask.low, bin.low);
    mask.high = mask.count == 0 ? bin.high : std::max(mask.high, bin.high);
    mask.count += bin.count;
    values.count -= bin.count;
  }
  std::erase_if(values.bins, near_top);
  mask.ordinary = rest;
  return true;
}

}  // namespace

float Distribution::absmax() const noexcept { return std::max(std::abs(min), std::abs(max)); }

Distribution distribution_of(const ValueHistogram& histogram) {
  Distribution values;
  values.bins = histogram.bins();
  values.count = histogram.range().count - histogram.range().nonfinite;
  if (values.count == 0) return values;
  values.min = histogram.range().min;
  values.max = histogram.range().max;
  for (Bin& bin : values.bins) {
    bin.low = std::clamp(bin.low, values.min, values.max);
    bin.high = std::clamp(bin.high, values.min, values.max);
  }
  return values;
}

SeenValues seen_values(std::string tensor, Format format, const Distribution& values) {
  SeenValues seen{std::move(tensor), format, values.min, values.max, {}};
  seen.bins.reserve(values.bins.size());
  for (const Bin& bin : values.bins) seen.bins.push_back({bin.low, bin.high, bin.count});
  return seen;
}

Distribution magnitudes(const Distribution& values) {
  Distribution folded;
  folded.count = values.count;
  folded.max = values.absmax();
  const auto first_positive = std::ranges::find_if(values.bins, [](const Bin& bin) { return bin.low >= 0; });
  // Both halves are in order of magnitude once the negative one is reversed: merge them.
  auto negative = std::make_reverse_iterator(first_positive);
  auto positive = first_positive;
  while (negative != values.bins.rend() || positive != values.bins.end()) {
    const bool take_negative =
        negative != values.bins.rend() && (positive == values.bins.end() || -negative->high < positive->low);
    Bin bin = take_negative ? Bin{-negative->high, -negative->low, negative->count} : *positive;
    if (take_negative) {
      ++negative;
    } else {
      if (negative != values.bins.rend() && -negative->high == positive->low && -negative->low == positive->high) {
        bin.count += (negative++)->count;
      }
      ++positive;
    }
    folded.bins.push_back(bin);
  }
  const float smallest = folded.bins.empty() ? 0 : folded.bins.front().low;
  folded.min = std::min(smallest, folded.max);
  return folded;
}

std::optional<Mask> take_mask(Distribution& values, std::span<const float> known, bool only_known) {
  Mask mask;
  while (take_outermost(values, known, only_known, mask)) {
  }
  if (mask.count == 0) return std::nullopt;
  values.min = values.bins.front().low;
  values.max = values.bins.back().high;
  return mask;
}

std::vector<double> linear_bins(const Distribution& values, float low, float high, std::size_t n) {
  std::vector<double> counts(n);
  const double width = (static_cast<double>(high) - low) / static_cast<double>(n);
  const auto place = [&](double value) {
    return std::min(static_cast<std::size_t>(std::max((value - low) / width, 0.0)), n - 1);
  };
  for (const Bin& bin : values.bins) {
    if (bin.high < low || bin.low > high) continue;
    const double from = std::max(bin.low, low);
    const double to = std::min(bin.high, high);
    const double whole = static_cast<double>(bin.high) - bin.low;
    const std::size_t first = place(from);
    const std::size_t last = place(to);
    for (std::size_t b = first; b <= last; ++b) {
      if (whole == 0) {
        counts[b] += static_cast<double>(bin.count);
        break;
      }
      const double left = std::max(from, low + width * static_cast<double>(b));
      const double right = std::min(to, low + width * static_cast<double>(b + 1));
      if (right > left) counts[b] += static_cast<double>(bin.count) * (right - left) / whole;
    }
  }
  return counts;
}

double share_beyond(const Distribution& values, float low, float high) {
  if (values.empty()) return 0;
  double beyond = 0;
  for (const Bin& bin : values.bins) {
    const double above = bin.high == bin.low ? (bin.low > high ? 1 : 0) : 1 - part_below(bin, high);
    beyond += static_cast<double>(bin.count) * (part_below(bin, low) + above);
  }
  return std::min(beyond / static_cast<double>(values.count), 1.0);
}

}  // namespace vernier
