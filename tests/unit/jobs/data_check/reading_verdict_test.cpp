#include "jobs/data_check/reading_verdict.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <string>

namespace vernier {
namespace {

InputReading reading(const std::string& change, std::optional<double> misfit, std::optional<double> confidence = {}) {
  InputReading made;
  made.change = change;
  made.misfit = misfit;
  made.confidence = confidence;
  return made;
}

const ReadingSteps kSteps{{"", 0}, {"divided by 255", 1}, {"red and blue swapped", 1}, {"both", 2}};

TEST(ReadingVerdict, TakesTheChangeThatFitsClearlyBetter) {
  CheckDataReport report;
  report.readings = {reading("", 3.0), reading("red and blue swapped", 2.9), reading("divided by 255", 0.01)};
  judge_readings(report, {}, kSteps);
  EXPECT_EQ(report.better, "divided by 255");
  EXPECT_FALSE(report.perhaps || report.unlike_training);
  EXPECT_EQ(report.readings[1].change, "divided by 255") << "best first, behind the inputs as given";
}

TEST(ReadingVerdict, OfEquallyGoodChangesTakesTheOneThatChangesLeast) {
  CheckDataReport report;
  report.readings = {reading("", 3.0), reading("both", 0.010), reading("divided by 255", 0.0105)};
  judge_readings(report, {}, kSteps);
  EXPECT_EQ(report.better, "divided by 255");
}

TEST(ReadingVerdict, NamesAllThatTheSamplesDoNotTellApart) {
  const ReadingSteps steps{{"", 0}, {"divided by 255", 1}, {"0..255 to -1..1", 1}};
  CheckDataReport report;
  report.readings = {reading("", 3.0), reading("divided by 255", 0.106), reading("0..255 to -1..1", 0.138)};
  judge_readings(report, {}, steps);
  EXPECT_TRUE(report.better);
  EXPECT_TRUE(report.undecided);
  EXPECT_NE(report.answer.find("(divided by 255; or 0..255 to -1..1: "), std::string::npos) << report.answer;
  report.readings = {reading("", 3.0), reading("divided by 255", 0.106), reading("0..255 to -1..1", 0.3)};
  judge_readings(report, {}, steps);
  EXPECT_FALSE(report.undecided);
}

TEST(ReadingVerdict, SaysThatNothingFitsWhereAllAreFarOff) {
  CheckDataReport report;
  report.readings = {reading("", 3.0), reading("divided by 255", 2.9)};
  judge_readings(report, {}, kSteps);
  EXPECT_FALSE(report.better);
  EXPECT_TRUE(report.unlike_training);
}

// By labels a change must win by more than two deviations of chance.
TEST(ReadingVerdict, LabelsDecideOnlyWhatChanceDoesNot) {
  const auto judged = [](std::size_t samples) {
    ReadingHits hits;
    for (std::size_t i = 0; i < samples; ++i) {
      hits[""].push_back(false);
      hits["divided by 255"].push_back(true);
    }
    CheckDataReport report;
    report.readings = {reading("", 3.0), reading("divided by 255", 0.01)};
    report.readings[0].accuracy = 0;
    report.readings[1].accuracy = 1;
    judge_readings(report, hits, kSteps);
    return report;
  };
  EXPECT_EQ(judged(9).better, "divided by 255");
  EXPECT_FALSE(judged(4).better) << "four of four is two deviations, not more";
  EXPECT_EQ(judged(4).perhaps, "divided by 255");
}

TEST(ReadingVerdict, SaysThatThereIsNothingToJudgeBy) {
  CheckDataReport report;
  report.readings = {reading("", std::nullopt)};
  judge_readings(report, {}, kSteps);
  EXPECT_EQ(report.decided_by, "");
  EXPECT_NE(report.answer.find("Nothing to judge the inputs by"), std::string::npos);
}

}  // namespace
}  // namespace vernier
