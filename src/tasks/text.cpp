#include "tasks/text.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {

void Surprise::add(std::span<const float> scores, std::size_t words, std::span<const std::int64_t> targets) {
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (targets[i] < 0) continue;
    if (targets[i] >= static_cast<std::int64_t>(words)) {
      throw Error(ErrorCode::Labels, fmt::format("token {} is none of the {} words", targets[i], words));
    }
    const std::span<const float> row = scores.subspan(i * words, words);
    double most = -std::numeric_limits<double>::infinity();
    for (const float score : row) {
      if (std::isnan(score)) most = std::nan("");
      if (!(score <= most)) most = std::isnan(most) ? most : score;
    }
    double sum = 0;
    for (const float score : row) sum += std::exp(score - most);
    sum_ += std::log(sum) + most - row[static_cast<std::size_t>(targets[i])];
    ++tokens_;
  }
}

double Surprise::perplexity() const {
  return tokens_ == 0 ? std::numeric_limits<double>::quiet_NaN() : std::exp(sum_ / static_cast<double>(tokens_));
}

}  // namespace vernier
