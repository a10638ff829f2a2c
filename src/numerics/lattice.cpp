#include "numerics/lattice.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace vernier {
namespace {

constexpr double kMostMultiples = 255;
constexpr double kTolerance = 0.01;  // of a step
constexpr std::size_t kFewestValues = 16;
constexpr std::size_t kFewestDistinct = 8;

}  // namespace

std::int64_t Lattice::beyond(std::int64_t multiple, std::span<const float> values) const {
  return std::ranges::count_if(values, [&](float value) {
    return std::abs(std::nearbyint(static_cast<double>(value) / step)) > static_cast<double>(multiple);
  });
}

std::optional<Lattice> lattice_of(std::span<const float> values) {
  if (values.size() < kFewestValues) return std::nullopt;
  std::vector<double> sorted{0.0};  // zero is on every grid
  sorted.reserve(values.size() + 1);
  for (const float value : values) {
    if (!std::isfinite(value)) return std::nullopt;
    sorted.push_back(static_cast<double>(value));
  }
  std::ranges::sort(sorted);
  const double largest = std::max(-sorted.front(), sorted.back());
  if (largest <= 0) return std::nullopt;
  // Multiples of a float32 step are float32 themselves: equal to a few units in the last place, no more.
  const double equal = largest * 1e-6;
  double gap = largest;
  std::size_t distinct = 1;
  double last = sorted.front();
  for (const double value : sorted) {
    if (value - last <= equal) continue;
    gap = std::min(gap, value - last);
    last = value;
    ++distinct;
  }
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
