#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "comparator/functions.h"
#include "tensors.h"
#include "vernier/comparison.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

using namespace testing;

FunctionResult simple(const Tensor& got, const Tensor& ref, SimpleOptions options = {1e-5, 1e-5}) {
  return compare_simple(Pair(got, ref), options, /*detail=*/false);
}

TEST(Elemwise, PassesWhenEitherToleranceHolds) {
  const Tensor ref = floats({1000, 1e-6F});
  EXPECT_TRUE(simple(floats({1000.005F, 2e-6F}), ref).passed);  // relatively, and absolutely
  const FunctionResult failed = simple(floats({1000.5F, 2e-6F}), ref);
  EXPECT_FALSE(failed.passed);
  EXPECT_EQ(failed.reason,
            "1 of 2 elements is above both atol 1e-05 and rtol 1e-05, the first at (0,): 1000.5 against 1000");
  EXPECT_EQ(failed.required_atol, 0.5);
  EXPECT_NEAR(failed.required_rtol, 1, 1e-6);  // of the second element
  ASSERT_TRUE(failed.absolute_histogram);
  EXPECT_EQ(failed.absolute_histogram->bins.back(), 1);
}

TEST(Elemwise, RoundsTheToleranceToFloat32AsNumpyDoes) {
  // 0.1 in float32 is above 0.1 in float64.
  EXPECT_TRUE(simple(floats({0.1F}), floats({0.0F}), {0.1, 0}).passed);
  EXPECT_FALSE(simple(doubles({static_cast<double>(0.1F)}), doubles({0}), {0.1, 0}).passed);
}

TEST(Elemwise, AZeroReferenceMakesTheRelativeErrorHuge) {
  const FunctionResult result = simple(floats({1e-3F, 1}), floats({0, 1}));
  EXPECT_FALSE(result.passed);
  EXPECT_EQ(result.zero_references, 1);
  EXPECT_NEAR(result.required_rtol, 1e-3 / 2.220446049250313e-16, 1e7);
}

TEST(Elemwise, AWholeZeroReferenceIsInfinitelyFar) {
  const FunctionResult result = simple(int64s({1, 0}), int64s({0, 0}), {0, 0});
  EXPECT_FALSE(result.passed);
  EXPECT_EQ(result.relative.positive_infinite, 1);
  EXPECT_EQ(result.relative.nan, 1);
  EXPECT_TRUE(simple(int64s({0}), int64s({0}), {0, 0}).passed);
}

TEST(Elemwise, NanFailsAndIsLeftOut) {
  const FunctionResult result = simple(floats({1, kNan, 3}), floats({1, 2, 3}), {100, 100});
  EXPECT_FALSE(result.passed);
  EXPECT_EQ(result.not_finite, 1);
  EXPECT_EQ(result.left_out, "1 of 3 differences is not finite, the first at (1,): nan against 2");
  EXPECT_EQ(result.required_atol, 0);
  EXPECT_TRUE(std::isnan(result.absolute_figures.max));
  EXPECT_EQ(result.absolute.mean, 0);
}

TEST(Elemwise, InfinitiesOfOneSignAreEqualOnlyWhenAsked) {
  const Tensor values = floats({kInf, 1, -kInf});
  SimpleOptions options{1e-5, 1e-5};
  EXPECT_FALSE(simple(values, values, options).passed);
  options.infinities_compare_equal = true;
  EXPECT_TRUE(simple(values, values, options).passed);
  EXPECT_FALSE(simple(floats({kInf, 1, kInf}), values, options).passed);
}

TEST(Elemwise, AnInfiniteReferenceFailsUnlessRelativelyNothing) {
  EXPECT_FALSE(simple(floats({1}), floats({kInf}), {1e30, 1e30}).passed);  // inf, and inf / inf
}

TEST(Elemwise, OfEmptyTensorsPasses) {
  for (const ErrorStat stat :
       {ErrorStat::Elemwise, ErrorStat::Max, ErrorStat::Mean, ErrorStat::Median, ErrorStat::Quantile}) {
    EXPECT_TRUE(simple(floats({0, 2}, {}), floats({0, 2}, {}), {0, 0, stat}).passed);
  }
}

TEST(Elemwise, OfScalars) { EXPECT_TRUE(simple(floats(Shape{}, {2}), floats(Shape{}, {2}), {0, 0}).passed); }

TEST(Elemwise, BoolsDifferOrNot) {
  const FunctionResult result = simple(bools({1, 0, 1}), bools({1, 1, 1}), {0, 0});
  EXPECT_FALSE(result.passed);
  EXPECT_EQ(result.absolute.max_at, 1);
  EXPECT_DOUBLE_EQ(result.absolute.mean, 1.0 / 3);
}

TEST(Elemwise, WholeNumbersAreSubtractedExactly) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(simple(int64s({kMost}), int64s({kMost - 1}), {0, 0}).required_atol, 1);
  EXPECT_EQ(simple(int64s({kMost}), int64s({-kMost - 1}), {0, 0}).required_atol, 0x1p64);
  const Tensor large = stored<std::uint64_t>(Dtype::UInt64, {1}, {1});
  const Tensor larger = stored<std::uint64_t>(Dtype::UInt64, {1}, {3});
  EXPECT_EQ(simple(large, larger, {0, 0}).required_atol, 2);
  EXPECT_EQ(simple(large, int64s({-5}), {0, 0}).required_atol, 6);
}

TEST(Elemwise, MixedTypesMeetInTheWiderOne) {
  EXPECT_TRUE(simple(float16s({0x3C00}), floats({1}), {0, 0}).passed);
  EXPECT_TRUE(simple(bools({1}), floats({1}), {0, 0}).passed);
  EXPECT_EQ(simple(int64s({3}), doubles({2.5}), {0, 0}).required_atol, 0.5);
  // In float32 both would be 2^24.
  EXPECT_EQ(simple(int64s({16777217}), floats({16777216}), {0, 0}).required_atol, 1);
}

struct StatCase {
  ErrorStat stat;
  double required;
};

class Statistic : public ::testing::TestWithParam<StatCase> {};

TEST_P(Statistic, FailsOnlyWhenBothAreAbove) {
  // Errors 0, 1, 2, 7 by references of 1.
  const Tensor ref = floats({1, 1, 1, 1});
  const Tensor got = floats({1, 2, 3, 8});
  const auto [stat, required] = GetParam();
  const double below = required - 0.01;
  EXPECT_FALSE(simple(got, ref, {below, below, stat, 0.5}).passed);
  EXPECT_TRUE(simple(got, ref, {required, below, stat, 0.5}).passed);
  EXPECT_TRUE(simple(got, ref, {below, required, stat, 0.5}).passed);
  EXPECT_DOUBLE_EQ(simple(got, ref, {0, 0, stat, 0.5}).required_atol, required);
}

INSTANTIATE_TEST_SUITE_P(All, Statistic,
                         ::testing::Values(StatCase{ErrorStat::Max, 7}, StatCase{ErrorStat::Mean, 2.5},
                                           StatCase{ErrorStat::Median, 1.5}, StatCase{ErrorStat::Quantile, 1.5}));

TEST(Statistics, OneNanFailsThemAll) {
  for (const ErrorStat stat : {ErrorStat::Max, ErrorStat::Mean, ErrorStat::Median, ErrorStat::Quantile}) {
    const FunctionResult result = simple(floats({1, 1, 1, kNan}), floats({1, 1, 1, 1}), {1, 1, stat});
    EXPECT_FALSE(result.passed);
    EXPECT_EQ(result.reason, "1 of 4 differences is not finite, the first at (3,): nan against 1");
  }
}

TEST(Statistics, AFewInfiniteErrorsLeaveTheMedian) {
  const FunctionResult result = simple(floats({1, 1, kInf}), floats({1, 1, 1}), {0, 0, ErrorStat::Median});
  EXPECT_TRUE(result.passed);
  EXPECT_EQ(result.not_finite, 1);
  EXPECT_FALSE(simple(floats({1, kInf, kInf}), floats({1, 1, 1}), {0, 0, ErrorStat::Median}).passed);
}

TEST(Indices, MayBeAFewPlacesOff) {
  const auto indices = [](const Tensor& got, const Tensor& ref, double tolerance) {
    return compare_indices(Pair(got, ref), tolerance);
  };
  EXPECT_TRUE(indices(int64s({0, 1, 2}), int64s({0, 1, 2}), 0).passed);
  const FunctionResult swapped = indices(int64s({0, 1, 2}), int64s({1, 0, 2}), 0);
  EXPECT_FALSE(swapped.passed);
  EXPECT_EQ(swapped.reason, "value 0 at (0,) is 1 place off in the reference; 0 allowed; 2 mismatches in all");
  EXPECT_TRUE(indices(int64s({0, 1, 2}), int64s({1, 0, 2}), 1).passed);
  EXPECT_FALSE(indices(int64s({0, 1, 2}), int64s({1, 2, 0}), 1).passed);
  EXPECT_TRUE(indices(int64s({0, 1, 2}), int64s({1, 2, 0}), 2).passed);
  EXPECT_TRUE(indices(int64s({0, 1, 9}), int64s({0, 1, 2}), 1).passed);  // the last one is not judged
  EXPECT_EQ(indices(int64s({0, 9}), int64s({0, 1}), 0).reason, "value 9 at (1,) is not in the reference's list");
  EXPECT_TRUE(indices(int64s({7}), int64s({8}), 100).passed);
}

TEST(Indices, RunAlongTheLastAxis) {
  const Tensor got = stored<std::int64_t>(Dtype::Int64, {2, 2}, {0, 1, 5, 6});
  const Tensor ref = stored<std::int64_t>(Dtype::Int64, {2, 2}, {0, 1, 6, 5});
  EXPECT_EQ(compare_indices(Pair(got, ref), 0).value, 1);
  EXPECT_TRUE(compare_indices(Pair(got, ref), 1).passed);
}

TEST(Indices, OfAScalarAndOfNothing) {
  const Tensor scalar = floats(Shape{}, {3});
  EXPECT_TRUE(compare_indices(Pair(scalar, scalar), 0).passed);
  const Tensor empty = floats({2, 0}, {});
  EXPECT_TRUE(compare_indices(Pair(empty, empty), 0).passed);
}

}  // namespace
}  // namespace vernier
