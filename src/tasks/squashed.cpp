#include "tasks/squashed.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace vernier {
namespace {

constexpr double kRounding = 1e-3;
const double kSigmoidOfOne = 1 / (1 + std::exp(-1.0));

}  // namespace

void SquashedTwice::add(std::span<const float> scores, std::size_t classes) {
  if (classes < 2 || scores.size() % classes != 0) return;
  for (std::size_t row = 0; row < scores.size(); row += classes) {
    double sum = 0, least = 1e300, most = -1e300;
    for (const float score : scores.subspan(row, classes)) {
      const double value = std::isfinite(score) ? score : -1e300;
      sum += value;
      least = std::min(least, value);
      most = std::max(most, value);
    }
    sums_are_one_ = sums_are_one_ && std::abs(sum - 1) < kRounding;
    least_ = std::min(least_, least);
    most_ = std::max(most_, most);
    largest_ratio_ = std::max(largest_ratio_, least > 0 ? most / least : 1e300);
    ++rows_;
    scores_ += classes;
  }
}

std::optional<std::string> SquashedTwice::function() const {
  if (rows_ >= 8 && sums_are_one_) {
    const bool within = largest_ratio_ <= std::numbers::e * (1 + kRounding);
    return within && largest_ratio_ > 2.5 ? std::optional<std::string>("softmax") : std::nullopt;
  }
  const bool within = least_ >= 0.5 - kRounding && most_ <= kSigmoidOfOne + kRounding;
  return scores_ >= 64 && within && least_ < 0.52 && most_ > 0.7 ? std::optional<std::string>("sigmoid") : std::nullopt;
}

}  // namespace vernier
