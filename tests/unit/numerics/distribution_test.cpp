// Facts that the definition gives; that ranges agree with NumPy's is test_ranges.py's.
#include "numerics/distribution.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "distributions.h"

namespace vernier {
namespace {

using test::of_bins;
using test::of_values;

TEST(TakeMask, TakesTheLargestAndKeepsTheRest) {
  Distribution values = of_bins({{-65504, -65500, 7}, {-3, -2, 5}, {0, 0, 4}, {1, 2, 3}});
  const std::optional<Mask> mask = take_mask(values);
  ASSERT_TRUE(mask);
  EXPECT_EQ(mask->low, -65504);
  EXPECT_EQ(mask->high, -65500);
  EXPECT_EQ(mask->count, 7);
  EXPECT_EQ(mask->ordinary, 3);
  EXPECT_EQ(values.min, -3);
  EXPECT_EQ(values.max, 2);
  EXPECT_EQ(values.count, 12);
  EXPECT_EQ(values.bins.size(), 3U);
}

TEST(TakeMask, ReachesFromTheLowestToTheHighestOfItsBins) {
  // Where two masks met, the value is twice the constant; with data added to it, neighbours.
  Distribution values = of_bins({{-20020, -20000, 1}, {-10010, -10000, 2}, {-10000, -9990, 3}, {-1, 1, 4}});
  const std::optional<Mask> mask = take_mask(values);
  ASSERT_TRUE(mask);
  EXPECT_EQ(mask->low, -20020);
  EXPECT_EQ(mask->high, -9990);
  EXPECT_EQ(mask->count, 6);
  EXPECT_EQ(values.count, 4);
}

TEST(TakeMask, OfBothSignsAreOne) {
  Distribution values = of_bins({{-1e9F, -1e9F, 2}, {-5, 5, 4}, {1e7F, 1e7F, 3}});
  const std::optional<Mask> mask = take_mask(values);
  ASSERT_TRUE(mask);
  EXPECT_EQ(mask->low, -1e9F);
  EXPECT_EQ(mask->high, 1e7F);
  EXPECT_EQ(mask->count, 5);
  EXPECT_EQ(mask->ordinary, 5);
  EXPECT_EQ(values.bins, (std::vector<Bin>{{-5, 5, 4}}));
}

TEST(TakeMask, LeavesDataAlone) {
  const auto is_left = [](std::vector<Bin> bins) {
    Distribution values = of_bins(std::move(bins));
    const std::vector<Bin> before = values.bins;
    return !take_mask(values) && values.bins == before;
  };
  EXPECT_TRUE(is_left({{-1, 1, 4}, {20000, 20000, 1}}));          // large and real: no constant that masks use
  EXPECT_TRUE(is_left({{-1e6F, -1e6F, 1}, {-20000, 20000, 4}}));  // less than 64 times as large
  EXPECT_TRUE(is_left({{-1e9F, -1e9F, 1}, {0, 0, 4}}));           // zeros and a mask: exact as they are
  EXPECT_TRUE(is_left({{-1e9F, -1e9F, 4}}));                      // nothing else
  EXPECT_TRUE(is_left({{-65504, -65504, 1}, {-40000, -30000, 1}, {-1, 1, 4}}));  // near the mask, and none itself
}

TEST(TakeMask, OfAConstantOfTheGraphNeedsLess) {
  const float known[] = {100};
  const std::vector<Bin> bins{{-104, -103, 2}, {-97, -96, 2}, {-5, 5, 9}};
  Distribution values = of_bins(bins);
  EXPECT_FALSE(take_mask(values));
  const std::optional<Mask> mask = take_mask(values, known);
  ASSERT_TRUE(mask);
  EXPECT_EQ(mask->low, -104);
  EXPECT_EQ(mask->ordinary, 5);
  Distribution other = of_bins({{-140, -139, 2}, {-5, 5, 9}});
  EXPECT_FALSE(take_mask(other, known)) << "far from the constant";
  Distribution near = of_bins({{-104, -103, 2}, {-50, 5, 9}});
  EXPECT_FALSE(take_mask(near, known)) << "not far from the other values";
}

TEST(LinearBins, SpreadEachBinOverThoseThatItMeets) {
  EXPECT_EQ(linear_bins(of_bins({{0, 2, 8}, {2, 4, 2}}), 0, 4, 4), (std::vector<double>{4, 4, 1, 1}));
  // What lies outside is left out; a bin that an end cuts counts by its part.
  EXPECT_EQ(linear_bins(of_bins({{-4, -2, 9}, {-1, 1, 8}, {3, 5, 6}}), 0, 4, 2), (std::vector<double>{4, 3}));
  // All of a bin at one place.
  EXPECT_EQ(linear_bins(of_bins({{0, 0, 3}, {4, 4, 5}}), 0, 4, 2), (std::vector<double>{3, 5}));
}

TEST(ShareBeyond, CountsThePartOfABinThatAnEndCuts) {
  const Distribution values = of_bins({{-4, -2, 2}, {-2, 2, 4}, {2, 4, 2}});
  EXPECT_EQ(share_beyond(values, -4, 4), 0);
  EXPECT_EQ(share_beyond(values, -3, 3), 0.25);       // half of each outer bin
  EXPECT_EQ(share_beyond(values, -3.5F, 4), 0.0625);  // a quarter of the lowest
  EXPECT_EQ(share_beyond(values, -4, 1), 0.375);
  EXPECT_EQ(share_beyond(values, 5, 6), 1);
  EXPECT_EQ(share_beyond(of_bins({{0, 0, 1}, {3, 3, 1}}), 0, 2), 0.5);
  EXPECT_EQ(share_beyond(of_bins({{0, 0, 1}, {3, 3, 1}}), 0, 3), 0);  // an end is inside
  EXPECT_EQ(share_beyond(Distribution{}, 0, 1), 0);
}

TEST(Magnitudes, FoldTheNegativeHalfOver) {
  const Distribution folded = magnitudes(of_values({-3, -3, -1, 0, 1, 1, 2, 3}));
  std::vector<std::int64_t> counts;
  for (const Bin& bin : folded.bins) counts.push_back(bin.count);
  EXPECT_EQ(counts, (std::vector<std::int64_t>{1, 3, 1, 3}));  // 0, 1, 2, 3
  EXPECT_EQ(folded.count, 8);
  EXPECT_EQ(folded.max, 3);
  EXPECT_EQ(folded.min, 0);
  for (std::size_t i = 1; i < folded.bins.size(); ++i) EXPECT_GE(folded.bins[i].low, folded.bins[i - 1].low);
}

TEST(Magnitudes, OfNegativeValuesAlone) {
  const Distribution folded = magnitudes(of_values({-4, -2}));
  EXPECT_EQ(folded.max, 4);
  EXPECT_EQ(folded.count, 2);
  EXPECT_NEAR(folded.min, 2, 0.01);
}

TEST(DistributionOf, HasNoBinBeyondTheExactEnds) {
  const Distribution values = of_values({-1.7F, 0.3F, 5.1F});
  EXPECT_EQ(values.min, -1.7F);
  EXPECT_EQ(values.max, 5.1F);
  EXPECT_EQ(values.bins.front().low, -1.7F);
  EXPECT_EQ(values.bins.back().high, 5.1F);
  EXPECT_EQ(values.absmax(), 5.1F);
}

}  // namespace
}  // namespace vernier
