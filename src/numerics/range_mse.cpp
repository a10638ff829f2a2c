#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "numerics/grid.h"
#include "numerics/range_methods.h"
#include "vernier/format.h"

namespace vernier {
namespace {

constexpr int kStepsPerOctave = 8;
constexpr int kOctaves = 10;

/// Bins as the arrays that rounding takes. Those far below the largest are merged, an octave each: on a grid for the
/// large ones they are zero, and what is merged keeps its energy.
struct Points {
  std::vector<float> values;
  std::vector<double> counts;
  std::vector<float> rounded;

  explicit Points(const Distribution& from) {
    const float floor = from.absmax() / 4096;
    for (const Bin& bin : from.bins) {
      const float value = bin.middle();
      const auto count = static_cast<double>(bin.count);
      const bool small = std::abs(value) < floor && !values.empty() && std::abs(values.back()) < floor &&
                         std::signbit(values.back()) == std::signbit(value) && value != 0 &&
                         std::ilogb(values.back()) == std::ilogb(value);
      if (small) {
        const double all = counts.back() + count;
        const double power = (counts.back() * values.back() * values.back() + count * value * value) / all;
        values.back() = static_cast<float>(std::copysign(std::sqrt(power), value));
        counts.back() = all;
        continue;
      }
      values.push_back(value);
      counts.push_back(count);
    }
    rounded.resize(values.size());
  }

  double noise(const QuantParams& params) {
    round_to(params, values, rounded);
    double sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double error = static_cast<double>(values[i]) - rounded[i];
      sum += counts[i] * error * error;
    }
    return sum;
  }
};

/// The factor in [2^-kOctaves, 1] with the least noise; 1 unless another is better.
double best_factor(const std::function<double(double)>& noise) {
  double best = 1;
  double least = noise(1);
  for (int k = 1; k <= kStepsPerOctave * kOctaves; ++k) {
    const double factor = std::exp2(-static_cast<double>(k) / kStepsPerOctave);
    const double found = noise(factor);
    if (found < least) {
      least = found;
      best = factor;
    }
  }
  double low = best * std::exp2(-1.0 / kStepsPerOctave);
  double high = std::min(1.0, best * std::exp2(1.0 / kStepsPerOctave));
  const double golden = (std::sqrt(5.0) - 1) / 2;
  for (int step = 0; step < 8; ++step) {
    const double left = high - golden * (high - low);
    const double right = low + golden * (high - low);
    const double noise_left = noise(left);
    const double noise_right = noise(right);
    for (const auto& [factor, found] : {std::pair{left, noise_left}, std::pair{right, noise_right}}) {
      if (found < least) {
        least = found;
        best = factor;
      }
    }
    (noise_left < noise_right ? high : low) = noise_left < noise_right ? right : left;
  }
  return best;
}

float part(float end, double factor) { return static_cast<float>(static_cast<double>(end) * factor); }

}  // namespace

double rounding_noise(const Distribution& values, const QuantParams& params) { return Points(values).noise(params); }

ValueRange mse_range(const Distribution& values, Format format) {
  if (values.absmax() == 0) return {};
  if (!is_unsigned(format)) {
    const float bound = values.absmax();
    Points points(values);  // with their signs: the lowest code has no partner
    const double factor = best_factor([&](double f) {
      return points.noise(activation_params(format, {-part(bound, f), part(bound, f)}));
    });
    return {std::max(values.min, -part(bound, factor)), std::min(values.max, part(bound, factor))};
  }
  Points points(values);
  const auto noise = [&](float low, float high) { return points.noise(asymmetric_params(low, high, format)); };
  const float low = std::min(values.min, 0.0F);
  const float high = std::max(values.max, 0.0F);
  double at_low = best_factor([&](double f) { return noise(part(low, f), part(high, f)); });
  double at_high = at_low;
  if (low < 0 && high > 0) {
    at_high = best_factor([&](double f) { return noise(part(low, at_low), part(high, f)); });
    at_low = best_factor([&](double f) { return noise(part(low, f), part(high, at_high)); });
  }
  const ValueRange found{part(low, at_low), part(high, at_high)};
  return noise(found.low, found.high) < noise(low, high) ? found : ValueRange{low, high};
}

}  // namespace vernier
