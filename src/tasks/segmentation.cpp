#include "tasks/segmentation.h"

#include <fmt/format.h>

#include <limits>

#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {

void PixelCounts::add(std::span<const std::int64_t> truth, std::span<const std::int64_t> got, std::int64_t ignored) {
  const auto index = [&](std::int64_t value, const char* what) {
    if (value < 0 || value >= static_cast<std::int64_t>(classes_)) {
      throw Error(ErrorCode::Labels, fmt::format("{} {} is none of the {} classes", what, value, classes_),
                  "‹ignore-label› N leaves pixels of that label out");
    }
    return static_cast<std::size_t>(value);
  };
  for (std::size_t i = 0; i < truth.size(); ++i) {
    if (truth[i] == ignored) continue;
    ++counts_[index(truth[i], "label") * classes_ + index(got[i], "prediction")];
  }
}

double PixelCounts::mean_iou() const {
  double sum = 0;
  std::size_t seen = 0;
  for (std::size_t c = 0; c < classes_; ++c) {
    std::int64_t of_class = 0;
    for (std::size_t other = 0; other < classes_; ++other) {
      of_class += counts_[c * classes_ + other] + counts_[other * classes_ + c];
    }
    const std::int64_t right = counts_[c * classes_ + c];
    if (of_class == 0) continue;
    sum += static_cast<double>(right) / static_cast<double>(of_class - right);
    ++seen;
  }
  return seen == 0 ? std::numeric_limits<double>::quiet_NaN() : sum / static_cast<double>(seen);
}

double PixelCounts::accuracy() const {
  std::int64_t right = 0, all = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    all += counts_[i];
    if (i / classes_ == i % classes_) right += counts_[i];
  }
  return all == 0 ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(right) / static_cast<double>(all);
}

std::vector<std::int64_t> largest_class(std::span<const float> scores, std::size_t classes) {
  const std::size_t pixels = scores.size() / classes;
  std::vector<std::int64_t> best(pixels, 0);
  for (std::size_t p = 0; p < pixels; ++p) {
    float most = -std::numeric_limits<float>::infinity();
    for (std::size_t c = 0; c < classes; ++c) {
      if (scores[c * pixels + p] > most) {
        most = scores[c * pixels + p];
        best[p] = static_cast<std::int64_t>(c);
      }
    }
  }
  return best;
}

}  // namespace vernier
