#include "tasks/squashed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <vector>

namespace vernier {
namespace {

std::vector<float> softmax(std::vector<float> row) {
  const float most = *std::ranges::max_element(row);
  float sum = 0;
  for (float& value : row) sum += value = std::exp(value - most);
  for (float& value : row) value /= sum;
  return row;
}

std::vector<float> sigmoid(std::vector<float> row) {
  for (float& value : row) value = 1 / (1 + std::exp(-value));
  return row;
}

/// Rows of scores, some sure, some not.
std::vector<std::vector<float>> logits(std::size_t rows, std::size_t classes, double spread) {
  std::mt19937 random(0);
  std::normal_distribution<float> normal(0, static_cast<float>(spread));
  std::vector<std::vector<float>> all(rows, std::vector<float>(classes));
  for (auto& row : all) {
    for (float& value : row) value = normal(random);
  }
  return all;
}

template <class Function>
std::optional<std::string> seen(std::size_t rows, std::size_t classes, double spread, const Function& function) {
  SquashedTwice look;
  for (const auto& row : logits(rows, classes, spread)) look.add(function(row), classes);
  return look.function();
}

TEST(SquashedTwice, KnowsTwoFromOne) {
  const auto once = [](const auto& row) { return softmax(row); };
  const auto twice = [](const auto& row) { return softmax(softmax(row)); };
  const auto sigmoid_once = [](const auto& row) { return sigmoid(row); };
  const auto sigmoid_twice = [](const auto& row) { return sigmoid(sigmoid(row)); };
  for (const std::size_t classes : {2U, 10U, 1000U}) {
    EXPECT_EQ(seen(32, classes, 8, once), std::nullopt) << classes;
    EXPECT_EQ(seen(32, classes, 8, twice), "softmax") << classes;
    EXPECT_EQ(seen(32, classes, 8, sigmoid_once), std::nullopt) << classes;
    EXPECT_EQ(seen(64, classes, 8, sigmoid_twice), "sigmoid") << classes;
    EXPECT_EQ(seen(64, classes, 8, [](const auto& row) { return row; }), std::nullopt) << classes;
  }
}

TEST(SquashedTwice, DoesNotSayItOfANetworkThatIsUnsure) {
  EXPECT_EQ(seen(32, 10, 0.2, [](const auto& row) { return softmax(row); }), std::nullopt);
  EXPECT_EQ(seen(32, 10, 0.2, [](const auto& row) { return sigmoid(row); }), std::nullopt);
}

TEST(SquashedTwice, NeedsEnoughAndFiniteScores) {
  const auto twice = [](const auto& row) { return softmax(softmax(row)); };
  EXPECT_EQ(seen(7, 10, 8, twice), std::nullopt);
  SquashedTwice look;
  look.add(std::vector<float>(30, std::numeric_limits<float>::quiet_NaN()), 10);
  for (const auto& row : logits(32, 10, 8)) look.add(twice(row), 10);
  EXPECT_EQ(look.function(), std::nullopt);
  SquashedTwice none;
  none.add(std::vector<float>(3, 0.5F), 2);
  none.add(std::vector<float>(3, 0.5F), 1);
  EXPECT_EQ(none.function(), std::nullopt);
}

}  // namespace
}  // namespace vernier
