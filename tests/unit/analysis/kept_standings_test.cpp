#include "analysis/kept_standings.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "vernier/tensor.h"

namespace vernier::testing {
namespace {

constexpr std::int64_t kFloats = 256;
constexpr std::size_t kBytes = kFloats * sizeof(float);

Standing standing_at(std::size_t part) { return {part, {{"t", Tensor(Dtype::Float32, {kFloats})}}}; }

using Runs = std::shared_ptr<KeptStandings::Runs>;

/// Runs of a setting that stood at the start of every part behind the first.
Runs run_all(KeptStandings& kept, const std::vector<std::string>& settings, std::size_t sample = 0) {
  const Runs runs = kept.begin(settings);
  const auto start = kept.nearest(*runs, sample);
  for (std::size_t part = start ? start->part + 1 : 1; part < settings.size(); ++part) {
    kept.keep(*runs, sample, standing_at(part));
  }
  return runs;
}

std::size_t start_of(KeptStandings& kept, const std::vector<std::string>& settings, std::size_t sample = 0) {
  const auto start = kept.nearest(*kept.begin(settings), sample);
  return start == nullptr ? 0 : start->part;
}

TEST(KeptStandings, ARunBeginsBehindWhatItHasInCommonWithAnother) {
  KeptStandings kept(100 * kBytes);
  EXPECT_EQ(start_of(kept, {"a", "b", "c"}), 0U) << "the first";
  run_all(kept, {"a", "b", "c"});
  EXPECT_EQ(start_of(kept, {"a", "b", "d"}), 2U);
  EXPECT_EQ(start_of(kept, {"a", "d", "c"}), 1U);
  EXPECT_EQ(start_of(kept, {"d", "b", "c"}), 0U);
  EXPECT_EQ(start_of(kept, {"a", "b", "d"}, 1), 0U) << "another sample";
  EXPECT_EQ(start_of(kept, {"a", "b", "c"}), 2U) << "the last part always runs: nothing is kept behind it";
}

TEST(KeptStandings, WhatTwoRunsShareStaysUntilTheLastOfThemGoes) {
  KeptStandings kept(3 * kBytes);
  run_all(kept, {"a", "b", "c"});
  EXPECT_EQ(kept.bytes(), 2 * kBytes);
  run_all(kept, {"a", "b", "d"});
  EXPECT_EQ(kept.bytes(), 2 * kBytes) << "both stand where the first did";
  run_all(kept, {"e", "f", "g"});  // makes room: the first goes, the second holds what they share
  EXPECT_EQ(start_of(kept, {"a", "b", "h"}), 2U);
  EXPECT_LE(kept.bytes(), 3 * kBytes);
}

TEST(KeptStandings, ThoseGoFirstThatNoRunBeganAtForLongest) {
  KeptStandings kept(6 * kBytes);
  run_all(kept, {"a", "b", "c"});
  run_all(kept, {"e", "f", "g"});
  run_all(kept, {"i", "j", "k"});
  EXPECT_EQ(start_of(kept, {"a", "b", "x"}), 2U);  // the oldest is used again
  run_all(kept, {"m", "n", "o"});
  EXPECT_EQ(start_of(kept, {"a", "b", "y"}), 2U);
  EXPECT_EQ(start_of(kept, {"e", "f", "y"}), 0U);
}

TEST(KeptStandings, WhatHasNoRoomIsNotKept) {
  KeptStandings kept(kBytes);
  run_all(kept, {"a", "b", "c", "d"});
  EXPECT_EQ(kept.bytes(), kBytes);
  EXPECT_EQ(start_of(kept, {"a", "b", "c", "e"}), 1U);
}

TEST(KeptStandings, AreOfSoManySettingsAtMost) {
  KeptStandings kept(1000 * kBytes);
  for (std::size_t i = 0; i < 2 * KeptStandings::kMostRuns; ++i) run_all(kept, {std::to_string(i), "b"});
  EXPECT_EQ(kept.bytes(), KeptStandings::kMostRuns * kBytes);
  EXPECT_EQ(start_of(kept, {"0", "c"}), 0U);
  EXPECT_EQ(start_of(kept, {std::to_string(2 * KeptStandings::kMostRuns - 1), "c"}), 1U);
}

TEST(KeptStandings, ServeRunsOfSeveralThreads) {
  KeptStandings kept(40 * kBytes);
  parallel_ordered(
      200, 4,
      [&](std::size_t i) {
        const std::vector<std::string> settings{"a", std::to_string(i % 3), std::to_string(i % 7), "d"};
        const Runs runs = kept.begin(settings);
        for (std::size_t sample = 0; sample < 6; ++sample) {
          const auto start = kept.nearest(*runs, sample);
          for (std::size_t part = start ? start->part + 1 : 1; part < settings.size(); ++part) {
            kept.keep(*runs, sample, standing_at(part));
          }
        }
        return i;
      },
      [](std::size_t, std::size_t) { return true; });
  EXPECT_LE(kept.bytes(), 40 * kBytes);
  EXPECT_GT(kept.bytes(), 0U);
}

}  // namespace
}  // namespace vernier::testing
