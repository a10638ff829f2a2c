#include "numerics/pair_sums.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace vernier {
namespace {

constexpr int kCodes = 256;

/// How many values have at least each code, as a share of all.
std::array<double, kCodes + 1> shares_from(const Distribution& data, const QuantParams& grid) {
  std::array<double, kCodes + 1> shares{};
  const double zero = grid.zero_point.empty() ? 0 : grid.zero_point.front();
  for (const Bin& bin : data.bins) {
    const double code =
        std::nearbyint(static_cast<double>(bin.middle()) / static_cast<double>(grid.scale.front())) + zero;
    shares[static_cast<std::size_t>(std::clamp(code, 0.0, 255.0))] +=
        static_cast<double>(bin.count) / static_cast<double>(data.count);
  }
  for (std::size_t code = kCodes; code > 0; --code) shares[code - 1] += shares[code];
  return shares;
}

}  // namespace

double pairs_beyond_16_bits(std::span<const float> codes, const AxisGeometry& summed, const Distribution& data,
                            const QuantParams& grid) {
  if (data.empty() || grid.scale.size() != 1) return 0;
  const std::array<double, kCodes + 1> shares = shares_from(data, grid);
  const auto terms = static_cast<std::size_t>(summed.channels);
  const auto inner = static_cast<std::size_t>(summed.inner);
  const auto beyond = [&](float sum, double end) {
    if (sum == 0) return 0.0;
    const double first = std::floor(end / static_cast<double>(std::abs(sum))) + 1;
    return first > 255 ? 0.0 : shares[static_cast<std::size_t>(first)];
  };
  double sum = 0;
  std::size_t pairs = 0;
  for (std::size_t block = 0; block + terms * inner <= codes.size(); block += terms * inner) {
    for (std::size_t term = 0; term + 1 < terms; term += 2) {
      for (std::size_t j = 0; j < inner; ++j) {
        const float one = codes[block + term * inner + j];
        const float two = codes[block + (term + 1) * inner + j];
        sum += beyond(std::max(one, 0.0F) + std::max(two, 0.0F), 32767);
        sum += beyond(std::min(one, 0.0F) + std::min(two, 0.0F), 32768);
        ++pairs;
      }
    }
  }
  return pairs == 0 ? 0 : sum / static_cast<double>(pairs);
}

PairSums::PairSums(std::span<const std::int8_t> codes, std::size_t outputs, std::size_t terms)
    : terms_(terms), of_output_(outputs) {
  constexpr int kLargest = 255;  // code of data
  for (std::size_t output = 0; output < outputs; ++output) {
    for (std::size_t term = 0; term + 1 < terms; term += 2) {
      const int one = codes[output * terms + term];
      const int two = codes[output * terms + term + 1];
      const int most = kLargest * (std::max(one, 0) + std::max(two, 0));
      const int least = kLargest * (std::min(one, 0) + std::min(two, 0));
      if (most <= INT16_MAX && least >= INT16_MIN) continue;
      of_output_[output].push_back(
          {static_cast<std::uint32_t>(term), static_cast<std::int16_t>(one), static_cast<std::int16_t>(two)});
      may_saturate_ = true;
    }
  }
}

std::int64_t PairSums::excess(std::size_t output, std::span<const std::uint8_t> data, std::int64_t& saturated) const {
  std::int64_t sum = 0;
  for (const Pair& pair : of_output_[output]) {
    const int products = data[pair.term] * pair.one + data[pair.term + 1] * pair.two;
    const int clipped = std::clamp<int>(products, INT16_MIN, INT16_MAX);
    sum += clipped - products;
    saturated += clipped != products ? 1 : 0;
  }
  return sum;
}

}  // namespace vernier
