#include "jobs/common/halves.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace vernier {
namespace {

std::vector<std::size_t> unlike(std::size_t samples) {
  std::vector<std::size_t> first(samples);
  std::iota(first.begin(), first.end(), std::size_t{0});
  return first;
}

TEST(Halves, EverySampleIsInOneOfThem) {
  for (const std::size_t samples : {10U, 11U, 1'000U}) {
    const Halves halves = halves_by_lot(unlike(samples));
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
  const Halves halves = halves_by_lot(unlike(60));
  EXPECT_EQ(halves, halves_by_lot(unlike(60)));
  for (const std::vector<std::size_t>& half : halves) {
    EXPECT_LT(half.front(), 20U);
    EXPECT_GT(half.back(), 40U);
  }
}

TEST(Halves, SamplesThatAreAlikeStayTogether) {
  std::vector<std::size_t> first = unlike(40);
  for (std::size_t i = 1; i < 40; i += 2) first[i] = i - 1;
  for (const std::vector<std::size_t>& half : halves_by_lot(first)) {
    EXPECT_EQ(half.size(), 20U);
    for (std::size_t i = 0; i < half.size(); i += 2) EXPECT_EQ(half[i + 1], half[i] + 1);
  }
}

}  // namespace
}  // namespace vernier
