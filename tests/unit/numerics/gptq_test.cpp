// GPTQ rounding against its definition in double arithmetic, one value at a time.
#include "numerics/gptq.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "numerics/round.h"
#include "numerics/tensor_grid.h"
#include "vernier/error.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

struct Case {
  std::string name;
  Shape shape;
  WeightLayout layout;
  std::size_t groups;
  Format format;
  int axis;
  int block;
};

std::vector<float> normal(std::mt19937_64& random, std::size_t n) {
  std::normal_distribution<float> draw;
  std::vector<float> values(n);
  for (float& value : values) value = draw(random);
  return values;
}

/// X^T X of inputs that depend on each other and differ in energy.
InputProducts products(std::size_t groups, std::size_t inputs, std::mt19937_64& random) {
  InputProducts made;
  made.groups = groups;
  made.inputs = inputs;
  made.sums.resize(groups * inputs * inputs);
  for (std::size_t g = 0; g < groups; ++g) {
    for (std::size_t sample = 0; sample < 3 * inputs; ++sample) {
      std::vector<float> x = normal(random, inputs);
      for (std::size_t k = 1; k < inputs; ++k) x[k] = 0.7F * x[k - 1] + x[k] * (1 + static_cast<float>(k % 5));
      for (std::size_t i = 0; i < inputs; ++i) {
        for (std::size_t j = 0; j < inputs; ++j) made.sums[(g * inputs + i) * inputs + j] += x[i] * x[j];
      }
    }
  }
  return made;
}

/// Index of the scale of an element, by its coordinates.
std::size_t scale_of(const Case& c, std::size_t element) {
  if (c.axis < 0) return 0;
  const auto size = [&](std::size_t i) { return static_cast<std::size_t>(c.shape[i]); };
  std::vector<std::size_t> at(c.shape.size());
  for (std::size_t i = c.shape.size(); i-- > 0; element /= size(i)) at[i] = element % size(i);
  const auto axis = static_cast<std::size_t>(c.axis);
  if (c.block == 0) return at[axis];
  std::size_t index = 0;
  for (std::size_t i = 0; i < c.shape.size(); ++i) {
    const std::size_t blocks = (size(i) + static_cast<std::size_t>(c.block) - 1) / static_cast<std::size_t>(c.block);
    index = i == axis ? index * blocks + at[i] / static_cast<std::size_t>(c.block) : index * size(i) + at[i];
  }
  return index;
}

std::size_t scales(const Case& c) {
  std::size_t most = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(element_count(c.shape)); ++i)
    most = std::max(most, scale_of(c, i));
  return most + 1;
}

/// q[j] = round(w[j] + sum over i > j of L[i,j] / L[j,j] (w[i] - q[i])), inputs by rising energy, H = L L^T with 1 % of
/// the mean of its diagonal added.
std::vector<double> oracle(const Case& c, const std::vector<float>& weight, const QuantParams& grid,
                           const InputProducts& given) {
  const std::size_t n = given.inputs;
  std::vector<double> rounded(weight.size());
  for (std::size_t row = 0; row < c.layout.results; ++row) {
    const float* sums = given.sums.data() + row / (c.layout.results / given.groups) * n * n;
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return sums[a * n + a] < sums[b * n + b]; });
    double mean = 0;
    for (std::size_t k = 0; k < n; ++k) mean += sums[k * n + k] / static_cast<double>(n);
    std::vector<std::vector<double>> l(n, std::vector<double>(n));
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        double left = sums[order[i] * n + order[j]] + (i == j ? 0.01 * mean : 0);
        for (std::size_t k = 0; k < j; ++k) left -= l[i][k] * l[j][k];
        l[i][j] = i == j ? std::sqrt(left) : left / l[j][j];
      }
    }
    std::vector<double> error(n);
    for (std::size_t j = n; j-- > 0;) {
      const std::size_t at = row * c.layout.of_result + order[j] * c.layout.of_input;
      double wanted = weight[at];
      for (std::size_t i = j + 1; i < n; ++i) wanted += l[i][j] / l[j][j] * error[i];
      const double step = grid.scale[scale_of(c, at)];
      const int zero = grid.zero_point.empty() ? 0 : grid.zero_point[scale_of(c, at)];
      const double lowest = c.format == Format::Int4 ? -8 : c.format == Format::UInt8 ? 0 : -128;
      const double code =
          std::clamp(std::nearbyint(wanted / step) + zero, lowest, lowest + (c.format == Format::Int4 ? 15 : 255));
      rounded[at] = (code - zero) * step;
      error[j] = weight[at] - rounded[at];
    }
  }
  return rounded;
}

class Gptq : public ::testing::TestWithParam<Case> {};

TEST_P(Gptq, RoundsAsItsDefinitionSays) {
  const Case& c = GetParam();
  std::mt19937_64 random(7);
  const auto count = static_cast<std::size_t>(element_count(c.shape));
  const std::vector<float> weight = normal(random, count);
  const InputProducts given = products(c.groups, count / c.layout.results, random);
  QuantParams grid;
  grid.format = c.format;
  grid.axis = c.axis;
  grid.block = c.block;
  std::uniform_real_distribution<float> step(0.02F, 0.5F);
  for (std::size_t i = 0; i < scales(c); ++i) grid.scale.push_back(step(random));
  if (c.format == Format::UInt8) grid.zero_point.assign(grid.scale.size(), 100);
  if (c.format == Format::UInt8 && c.axis >= 0) grid.zero_point.back() = 140;
  const auto rounded = gptq_round(Tensor::of(c.shape, weight), c.layout, grid, given, 0.01, 2);
  ASSERT_TRUE(rounded);
  const std::vector<double> expected = oracle(c, weight, grid, given);
  for (std::size_t i = 0; i < count; ++i) ASSERT_NEAR((*rounded)[i], expected[i], 1e-5) << "element " << i;
}

INSTANTIATE_TEST_SUITE_P(Weights, Gptq,
                         ::testing::Values(
                             // Conv [M, C, kh, kw]: rows of neighbours, a scale for each output channel.
                             Case{"Conv", {6, 2, 3, 3}, {6, 18, 1}, 1, Format::Int8, 0, 0},
                             // More channels than inputs, more results than are rounded side by side.
                             Case{"PointwiseConv", {80, 5, 1, 1}, {80, 5, 1}, 1, Format::Int8, 0, 0},
                             Case{"GroupedConv", {6, 2, 3, 1}, {6, 6, 1}, 3, Format::Int8, 0, 0},
                             // More inputs than are summed side by side.
                             Case{"ManyInputs", {3, 40}, {3, 40, 1}, 1, Format::Int8, 0, 0},
                             // More than the columns that are made at a time.
                             Case{"SeveralPanels", {70, 100}, {70, 100, 1}, 1, Format::Int8, 0, 0},
                             Case{"PerTensor", {4, 7}, {4, 7, 1}, 1, Format::Int8, -1, 0},
                             // MatMul [K, N]: a result is a column.
                             Case{"MatMul", {9, 5}, {5, 1, 5}, 1, Format::Int8, 1, 0},
                             Case{"MatMulAsymmetric", {9, 5}, {5, 1, 5}, 1, Format::UInt8, 1, 0},
                             Case{"BlocksDownTheColumns", {12, 3}, {3, 1, 3}, 1, Format::Int4, 0, 4},
                             Case{"LastBlockShorter", {3, 10}, {3, 10, 1}, 1, Format::Int4, 1, 4}),
                         [](const auto& tested) { return tested.param.name; });

TEST(Gptq, HasTheSameBitsOnEveryInstructionSetAndForAnyThreads) {
  std::mt19937_64 random(11);
  const Tensor weight = Tensor::of({70, 150}, normal(random, 70 * 150));
  const InputProducts given = products(1, 150, random);
  const QuantParams grid{Format::Int8, {0.3F}, {}, -1, 0, 0};
  const auto bits = [&](std::string_view target, std::size_t threads) {
    limit_dispatch(target);
    const auto rounded = gptq_round(weight, {70, 150, 1}, grid, given, 0.01, threads);
    const double energy = output_energy(weight, {70, 150, 1}, *rounded, given, threads);
    limit_dispatch({});
    return std::pair(*rounded, energy);
  };
  const auto expected = bits({}, 1);
  EXPECT_EQ(bits({}, 3), expected);
  for (const std::string_view target : dispatch_targets()) EXPECT_EQ(bits(target, 1), expected) << target;
}

TEST(Gptq, OutputEnergyIsThatOfTheErrorsOfItsRows) {
  // Two groups, a row each: 0.5^2 * 2 + 2 * 0.5 * 1 * 3 + 1^2 * 5, and 2^2 * 7.
  const Tensor weight = Tensor::of({2, 2}, std::vector<float>{1.5F, 2, 3, 4});
  const InputProducts given{2, 2, {2, 3, 3, 5, 7, 1, 1, 9}};
  EXPECT_DOUBLE_EQ(output_energy(weight, {2, 2, 1}, {1, 1, 1, 4}, given, 2), 8.5 + 28);
  // The same weights as columns.
  const Tensor turned = Tensor::of({2, 2}, std::vector<float>{1.5F, 3, 2, 4});
  EXPECT_DOUBLE_EQ(output_energy(turned, {2, 1, 2}, {1, 1, 1, 4}, given, 1), 8.5 + 28);
}

TEST(Gptq, MoreDampingStaysNearerToTheNearestCodes) {
  std::mt19937_64 random(3);
  const Tensor weight = Tensor::of({4, 20}, normal(random, 80));
  const InputProducts given = products(1, 20, random);
  const QuantParams grid{Format::Int8, {0.3F}, {}, -1, 0, 0};
  std::vector<float> nearest(80);
  round_tensor(grid, weight.shape(), weight.floats(), nearest);
  const auto changed = [&](double damping) {
    const auto rounded = gptq_round(weight, {4, 20, 1}, grid, given, damping, 1);
    std::size_t others = 0;
    for (std::size_t i = 0; i < nearest.size(); ++i) others += (*rounded)[i] != nearest[i] ? 1 : 0;
    return others;
  };
  EXPECT_GT(changed(0.01), changed(1));
  EXPECT_EQ(changed(1e4), 0U);
}

TEST(Gptq, RefusesProductsOfAnotherSize) {
  QuantParams grid{Format::Int8, {0.1F}, {}, -1, 0, 0};
  EXPECT_THROW(gptq_round(Tensor::of({2, 3}, std::vector<float>(6)), {2, 3, 1}, grid, {1, 2, {1, 0, 0, 1}}, 0.01, 1),
               Error);
}

TEST(Gptq, HasNothingToGoByWithoutEnergy) {
  QuantParams grid{Format::Int8, {0.1F}, {}, -1, 0, 0};
  const Tensor weight = Tensor::of({2, 2}, std::vector<float>(4, 1));
  EXPECT_FALSE(gptq_round(weight, {2, 2, 1}, grid, {1, 2, {0, 0, 0, 0}}, 0.01, 1));
  EXPECT_FALSE(gptq_round(weight, {2, 2, 1}, grid, {1, 2, {NAN, 0, 0, 1}}, 0.01, 1));
}

}  // namespace
}  // namespace vernier
