// Each metric with one figure, against values worked out by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "comparator/functions.h"
#include "tensors.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

using namespace testing;

double figure(Figure (*function)(Pair&), const Tensor& got, const Tensor& ref) {
  Pair pair(got, ref);
  const Figure figure = function(pair);
  EXPECT_EQ(figure.problem, "");
  return figure.value;
}

TEST(L2, IsTheLengthOfTheDifference) {
  EXPECT_DOUBLE_EQ(figure(l2, floats({1, 2, 3}), floats({1, 5, 7})), 5);
  EXPECT_DOUBLE_EQ(figure(l2, int64s({1, 2}), int64s({4, 6})), 5);
  EXPECT_DOUBLE_EQ(figure(l2, bools({1, 0}), bools({0, 0})), 1);
}

TEST(L2, LeavesOutWhatIsNotFinite) { EXPECT_DOUBLE_EQ(figure(l2, floats({kNan, 2, kInf}), floats({1, 5, kInf})), 3); }

TEST(L2, DoesNotOverflowWhereFloat32Would) {
  EXPECT_NEAR(figure(l2, floats({3e30F, 0}), floats({0, 4e30F})), 5e30, 1e24);
}

TEST(CosineSimilarity, IsOneForTheSameDirection) {
  EXPECT_DOUBLE_EQ(figure(cosine_similarity, floats({1, 2}), floats({10, 20})), 1);
  EXPECT_DOUBLE_EQ(figure(cosine_similarity, floats({1, 0}), floats({0, 3})), 0);
  EXPECT_DOUBLE_EQ(figure(cosine_similarity, floats({1, 0}), floats({-2, 0})), -1);
  EXPECT_DOUBLE_EQ(figure(cosine_similarity, floats({3, 4}), floats({4, 3})), 24.0 / 25);
}

TEST(CosineSimilarity, OfZeros) {
  EXPECT_EQ(figure(cosine_similarity, floats({0, 0}), floats({0, 0})), 1);
  EXPECT_EQ(figure(cosine_similarity, floats({0, 0}), floats({0, 1})), 0);
  EXPECT_EQ(figure(cosine_similarity, floats(std::vector<float>{}), floats(std::vector<float>{})), 1);
}

TEST(Psnr, TakesTheLargestValueOfTheFirstRun) {
  // Error 1 in one of four: mse 0.25.
  EXPECT_DOUBLE_EQ(figure(psnr, floats({10, 1, 2, 3}), floats({10, 1, 2, 4})), 20 - 10 * std::log10(0.25));
  EXPECT_DOUBLE_EQ(figure(psnr, floats({-1, -2}), floats({-1, -3})), -10 * std::log10(0.5));  // none above 0: 1
  EXPECT_EQ(figure(psnr, floats({1, 2}), floats({1, 2})), std::numeric_limits<double>::infinity());
}

TEST(Snr, TakesTheFirstRunAsTheSignal) {
  EXPECT_DOUBLE_EQ(figure(snr, floats({3, 4}), floats({3, 5})), 10 * std::log10(25));
  EXPECT_EQ(figure(snr, floats({0, 0}), floats({0, 1})), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(figure(snr, floats({0, 0}), floats({0, 0})), std::numeric_limits<double>::infinity());
}

TEST(Sqnr, TakesTheReferenceAsTheSignal) {
  EXPECT_DOUBLE_EQ(figure(sqnr, floats({3, 5}), floats({3, 4})), 10 * std::log10(25));
  EXPECT_EQ(figure(sqnr, floats({0, 1}), floats({0, 0})), -std::numeric_limits<double>::infinity());
}

TEST(MeanSquaredError, IsOverFinitePairs) {
  EXPECT_DOUBLE_EQ(figure(mean_squared_error, floats({1, 2, kNan}), floats({1, 4, 0})), 2);
  EXPECT_EQ(figure(mean_squared_error, floats({kNan}), floats({kNan})), 0);
}

TEST(KlDivergence, IsTheWorstRow) {
  // Rows scale to (0.5, 0.5) against (0.25, 0.75), and to the same.
  const Tensor ref = floats({2, 2}, {1, 1, 2, 6});
  const Tensor got = floats({2, 2}, {1, 3, 1, 3});
  EXPECT_DOUBLE_EQ(figure(kl_divergence, got, ref), 0.5 * std::log(2) + 0.5 * std::log(0.5 / 0.75));
}

TEST(KlDivergence, OfZeros) {
  EXPECT_EQ(figure(kl_divergence, floats({1, 1}), floats({0, 2})), std::log(2));
  EXPECT_EQ(figure(kl_divergence, floats({0, 1}), floats({1, 1})), std::numeric_limits<double>::infinity());
  EXPECT_EQ(figure(kl_divergence, floats({0, 0}), floats({0, 0})), 0);
  EXPECT_EQ(figure(kl_divergence, floats({0, 0}), floats({0, 1})), std::numeric_limits<double>::infinity());
  EXPECT_EQ(figure(kl_divergence, floats(Shape{}, {2}), floats(Shape{}, {5})), 0);
}

TEST(KlDivergence, RefusesWhatIsNoDistribution) {
  const Tensor got = floats({1, -1});
  const Tensor ref = floats({1, 1});
  Pair pair(got, ref);
  EXPECT_EQ(kl_divergence(pair).problem,
            "values at (1,) are -1 against 1: not a distribution, because some are below 0");
}

TEST(UlpDistance, CountsStepsOfTheCoarserType) {
  EXPECT_EQ(figure(ulp_distance, floats({1, 2}), floats({std::nextafter(1.0F, 2.0F), 2})), 1);
  EXPECT_EQ(figure(ulp_distance, floats({0.0F}), floats({-0.0F})), 0);
  EXPECT_EQ(figure(ulp_distance, floats({0x1p-149F}), floats({-0x1p-149F})), 2);
  EXPECT_EQ(figure(ulp_distance, doubles({1}), doubles({1 + 3 * 0x1p-52})), 3);
  EXPECT_EQ(figure(ulp_distance, float16s({0x3C00}), float16s({0x3C05})), 5);
  // One and a half float16 steps round to two.
  EXPECT_EQ(figure(ulp_distance, floats({1 + 1.5F * 0x1p-10F}), float16s({0x3C00})), 2);
  EXPECT_EQ(figure(ulp_distance, stored<std::uint16_t>(Dtype::BFloat16, {1}, {0x3F80}), floats({1.0F})), 0);
  EXPECT_EQ(figure(ulp_distance, stored<std::uint8_t>(Dtype::Float8E4M3FN, {1}, {0x38}),
                   stored<std::uint8_t>(Dtype::Float8E4M3FN, {1}, {0x3A})),
            2);
  EXPECT_EQ(figure(ulp_distance, int64s({5}), int64s({9})), 4);
}

TEST(Pair, SaysWhatIsNotFinite) {
  const Tensor got = floats({2, 2}, {1, kNan, kInf, 4});
  const Tensor ref = floats({2, 2}, {1, 0.5, kInf, 4});
  Pair pair(got, ref);
  EXPECT_EQ(pair.not_finite_text(), "2 of 4 values are not finite, the first at (0, 1): nan against 0.5");
}

}  // namespace
}  // namespace vernier
