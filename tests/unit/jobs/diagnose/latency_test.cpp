#include "jobs/diagnose/latency.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "vernier/report/diagnose.h"

namespace vernier {
namespace {

std::string note(std::optional<double> float_ms, std::optional<double> low_ms, std::optional<double> repaired_ms) {
  LatencyReport latency;
  latency.float_ms = float_ms;
  latency.low_ms = low_ms;
  latency.repaired_ms = repaired_ms;
  return what_keeping_cost(latency);
}

TEST(WhatKeepingCost, SaysHowMuchOfTheGainIsTakenBack) {
  const std::string text = note(10, 6, 9);
  EXPECT_NE(text.find("cost 3 ms of the 4 ms"), std::string::npos) << text;
  EXPECT_NE(text.find("‹cost› time"), std::string::npos) << text;
}

TEST(WhatKeepingCost, IsSilentWhereMostOfTheGainIsLeft) { EXPECT_EQ(note(10, 6, 7.9), ""); }

TEST(WhatKeepingCost, BlamesNoLayerWhereLowPrecisionGainsNothing) {
  EXPECT_NE(note(10, 11, 12).find("was not faster than FP32 in this measurement"), std::string::npos);
}

TEST(WhatKeepingCost, IsSilentAboutWhatWasNotMeasured) {
  EXPECT_EQ(note(std::nullopt, std::nullopt, std::nullopt), "");
  EXPECT_EQ(note(10, 6, std::nullopt), "");
}

}  // namespace
}  // namespace vernier
