#include "jobs/common/halves.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace vernier {
namespace {

TEST(Halves, EverySampleIsInOneOfThem) {
  for (const std::size_t samples : {10U, 11U, 1'000U}) {
    const Halves halves = halves_by_lot(samples);
    std::vector<std::size_t> all;
    for (const std::vector<std::size_t>& half : halves) {
      EXPECT_TRUE(std::ranges::is_sorted(half)) << "files are read in their order";
      all.insert(all.end(), half.begin(), half.end());
    }
    std::ranges::sort(all);
    std::vector<std::size_t> wanted(samples);
    std::iota(wanted.begin(), wanted.end(), std::size_t{0});
    EXPECT_EQ(all, wanted);
    EXPECT_EQ(halves[0].size(), samples / 2);
  }
}

TEST(Halves, AreTheSameEveryTimeAndNeitherIsABlock) {
  const Halves halves = halves_by_lot(60);
  EXPECT_EQ(halves, halves_by_lot(60));
  for (const std::vector<std::size_t>& half : halves) {
    EXPECT_LT(half.front(), 20U);
    EXPECT_GT(half.back(), 40U);
  }
}

}  // namespace
}  // namespace vernier
