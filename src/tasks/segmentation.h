// Semantic segmentation: pixels counted by true and predicted class.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace vernier {

class PixelCounts {
 public:
  explicit PixelCounts(std::size_t classes) : classes_(classes), counts_(classes * classes, 0) {}

  /// Folds in one image: the true class of each pixel, and the predicted one. Pixels whose truth is `ignored` are left
  /// out. Errors: Input when another value is no class.
  void add(std::span<const std::int64_t> truth, std::span<const std::int64_t> got, std::int64_t ignored);

  /// Mean over the classes that occur, in truth or prediction, of TP / (TP + FP + FN); NaN when none does.
  double mean_iou() const;
  /// Share of pixels whose class is right; NaN without pixels.
  double accuracy() const;

 private:
  std::size_t classes_;
  std::vector<std::int64_t> counts_;  // [truth, got]
};

/// The class of each pixel: the largest of scores [classes, pixels]; ties go to the lower class, NaN never wins.
std::vector<std::int64_t> largest_class(std::span<const float> scores, std::size_t classes);

}  // namespace vernier
