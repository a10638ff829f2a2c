#include "base/progress.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace vernier {
namespace {

std::vector<std::pair<std::size_t, std::size_t>> told_of(std::size_t total, std::size_t step) {
  std::vector<std::pair<std::size_t, std::size_t>> told;
  WeightsProgress progress([&](const std::string&, std::size_t done, std::size_t all) { told.emplace_back(done, all); },
                           "weights, MB", total);
  for (std::size_t done = 0; done < total; done += step) progress.add(step);
  return told;
}

TEST(WeightsProgress, TellsMegabytesAndNeverMoreThanThereAre) {
  EXPECT_EQ(told_of(250'000'000, 100'000'000),
            (std::vector<std::pair<std::size_t, std::size_t>>{{100, 250}, {200, 250}, {250, 250}}));
}

TEST(WeightsProgress, IsSilentWhereNobodyWaits) { EXPECT_TRUE(told_of(50'000'000, 10'000'000).empty()); }

}  // namespace
}  // namespace vernier
