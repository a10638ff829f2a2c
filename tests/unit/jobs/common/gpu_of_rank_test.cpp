#include "jobs/common/gpu_of_rank.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace vernier {
namespace {

using Seen = std::vector<std::vector<std::string>>;

/// (index, shared) of each rank.
std::vector<std::pair<int, bool>> choices(const Seen& seen) {
  std::vector<std::pair<int, bool>> all;
  for (std::size_t rank = 0; rank < seen.size(); ++rank) {
    const GpuOfRank choice = choose_gpu(seen, rank);
    all.emplace_back(choice.index, choice.shared);
  }
  return all;
}

using Choices = std::vector<std::pair<int, bool>>;

TEST(GpuOfRank, RanksThatSeeAllTakeThemInTurns) {
  const std::vector<std::string> all{"a", "b"};
  EXPECT_EQ(choices({all, all}), (Choices{{0, false}, {1, false}}));
  EXPECT_EQ(choices({all, all, all}), (Choices{{0, false}, {1, false}, {0, true}}));
}

TEST(GpuOfRank, RanksThatALauncherBoundTakeTheirOwn) {
  EXPECT_EQ(choices({{"a"}, {"b"}, {"c"}}), (Choices{{0, false}, {0, false}, {0, false}}));
  EXPECT_EQ(choices({{"a", "b"}, {"c", "d"}, {"e", "f"}}), (Choices{{0, false}, {0, false}, {0, false}}));
}

TEST(GpuOfRank, RanksThatSeeTheSameOneShareIt) { EXPECT_EQ(choices({{"a"}, {"a"}}), (Choices{{0, false}, {0, true}})); }

TEST(GpuOfRank, RanksOfSeveralMachinesBeginAnew) {
  const std::vector<std::string> here{"a", "b"}, there{"c", "d"};
  EXPECT_EQ(choices({here, here, there, there}), (Choices{{0, false}, {1, false}, {0, false}, {1, false}}));
}

TEST(GpuOfRank, ARankThatSeesNoneTakesNone) {
  EXPECT_EQ(choices({{}, {"a"}, {}}), (Choices{{0, false}, {0, false}, {0, false}}));
}

}  // namespace
}  // namespace vernier
