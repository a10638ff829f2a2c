#include "numerics/lattice.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "numerics/metrics.h"

namespace vernier {
namespace {

constexpr double kMostMultiples = 255;
constexpr double kTolerance = 0.01;  // of a step
constexpr std::size_t kFewestValues = 16;
constexpr std::size_t kFewestDistinct = 8;
constexpr std::size_t kSome = 512;

/// The smallest distance of two values that are not equal, and how many are not: along sorted ones.
struct Distances {
  double least = 0;
  std::size_t distinct = 1;
};

Distances distances(const std::vector<double>& sorted, double largest, double equal) {
  Distances found{largest};
  double last = sorted.front();
  for (const double value : sorted) {
    if (value - last <= equal) continue;
    found.least = std::min(found.least, value - last);
    last = value;
    ++found.distinct;
  }
  return found;
}

/// Some of the values lie too close to each other for all of them to be multiples: sorting them all need not tell.
bool surely_off(std::span<const float> values, double largest, double equal) {
  if (values.size() < 2 * kSome) return false;
  std::vector<double> some;
  for (std::size_t i = 0; i < values.size(); i += values.size() / kSome) some.push_back(static_cast<double>(values[i]));
  std::ranges::sort(some);
  // Among all of them what some begin at may be taken for one that is equal to it.
  return largest / (distances(some, largest, equal).least + equal) > kMostMultiples + 0.5;
}

}  // namespace

std::int64_t Lattice::beyond(std::int64_t multiple, std::span<const float> values) const {
  return std::ranges::count_if(values, [&](float value) {
    return std::abs(std::nearbyint(static_cast<double>(value) / step)) > static_cast<double>(multiple);
  });
}

std::optional<Lattice> lattice_of(std::span<const float> values) {
  if (values.size() < kFewestValues) return std::nullopt;
  RangeStats range;
  accumulate_range(values, range);
  const auto largest = static_cast<double>(range.absmax());
  if (range.nonfinite > 0 || largest <= 0) return std::nullopt;
  // Multiples of a float32 step are float32 themselves: equal to a few units in the last place, no more.
  const double equal = largest * 1e-6;
  if (surely_off(values, largest, equal)) return std::nullopt;
  std::vector<double> sorted(values.begin(), values.end());
  sorted.push_back(0.0);  // zero is on every grid
  std::ranges::sort(sorted);
  const auto [gap, distinct] = distances(sorted, largest, equal);
  if (distinct < kFewestDistinct || largest / gap > kMostMultiples + 0.5) return std::nullopt;
  double step = gap;
  for (int round = 0; round < 3; ++round) {
    double products = 0;
    double squares = 0;
    for (const float value : values) {
      const double k = std::nearbyint(static_cast<double>(value) / step);
      products += static_cast<double>(value) * k;
      squares += k * k;
    }
    if (squares == 0) return std::nullopt;
    step = products / squares;
  }
  for (const float value : values) {
    const double k = static_cast<double>(value) / step;
    if (std::abs(k - std::nearbyint(k)) > kTolerance) return std::nullopt;
  }
  return Lattice{step, static_cast<std::int64_t>(std::nearbyint(largest / step)), distinct};
}

}  // namespace vernier
