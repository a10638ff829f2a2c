// Scores that went through a softmax or a sigmoid twice, as when the network ends with one and who exported it, or a
// script around it, adds another. Classes keep their order, so that no top-1 shows it; thresholds and confidences are
// wrong.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace vernier {

/// Looks at scores, row by row. A softmax of shares p is exp(p) / sum(exp(p)), so no score can be more than e times
/// another; a sigmoid of shares lies within 1/2 and sigmoid(1) = 0.7311. Both bounds have to be nearly reached: a
/// network that is merely unsure stays away from them.
class SquashedTwice {
 public:
  /// Rows of `classes` scores. Scores of other shapes may come in between; what is not finite rules both out.
  void add(std::span<const float> scores, std::size_t classes);
  /// "softmax" or "sigmoid"; nullopt: neither, or fewer than eight rows, or 64 scores.
  std::optional<std::string> function() const;

 private:
  std::size_t rows_ = 0, scores_ = 0;
  bool sums_are_one_ = true;
  double least_ = 1e300, most_ = -1e300;
  double largest_ratio_ = 0;
};

}  // namespace vernier
