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

const ReadingKinds kKinds{{"", {0}},
                          {"divided by 255", {1, true}},
                          {"times 255", {1, true, true}},
                          {"red and blue swapped", {1}},
                          {"both", {2, true}}};

TEST(ReadingVerdict, TakesTheChangeThatFitsClearlyBetter) {
  CheckDataReport report;
  report.readings = {reading("", 3.0), reading("red and blue swapped", 2.9), reading("divided by 255", 0.01)};
  judge_readings(report, {}, kKinds);
  EXPECT_EQ(report.better, "divided by 255");
  EXPECT_FALSE(report.perhaps || report.unlike_training);
  EXPECT_EQ(report.readings[1].change, "divided by 255") << "best first, behind the inputs as given";
}

TEST(ReadingVerdict, OfEquallyGoodChangesTakesTheOneThatChangesLeast) {
  CheckDataReport report;
  report.readings = {reading("", 3.0), reading("both", 0.010), reading("divided by 255", 0.0105)};
  judge_readings(report, {}, kKinds);
  EXPECT_EQ(report.better, "divided by 255");
}

TEST(ReadingVerdict, NamesAllThatTheSamplesDoNotTellApart) {
  const ReadingKinds kinds{{"", {0}}, {"divided by 255", {1, true}}, {"0..255 to -1..1", {1, true}}};
  CheckDataReport report;
  report.readings = {reading("", 3.0), reading("divided by 255", 0.106), reading("0..255 to -1..1", 0.138)};
  judge_readings(report, {}, kinds);
  EXPECT_TRUE(report.better);
  EXPECT_TRUE(report.undecided);
  EXPECT_NE(report.answer.find("(divided by 255; or 0..255 to -1..1: "), std::string::npos) << report.answer;
  report.readings = {reading("", 3.0), reading("divided by 255", 0.106), reading("0..255 to -1..1", 0.3)};
  judge_readings(report, {}, kinds);
  EXPECT_FALSE(report.undecided);
}

TEST(ReadingVerdict, SaysThatNothingFitsWhereAllAreFarOff) {
  CheckDataReport report;
  report.readings = {reading("", 3.0), reading("divided by 255", 2.9)};
  judge_readings(report, {}, kKinds);
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
    judge_readings(report, hits, kKinds);
    return report;
  };
  EXPECT_EQ(judged(9).better, "divided by 255");
  EXPECT_FALSE(judged(4).better) << "four of four is two deviations, not more";
  EXPECT_EQ(judged(4).perhaps, "divided by 255");
}

// Larger values make any network surer.
TEST(ReadingVerdict, ConfidenceDoesNotTellThatARangeIsTooSmall) {
  CheckDataReport report;
  report.readings = {reading("", {}, 0.62), reading("times 255", {}, 1.0), reading("red and blue swapped", {}, 0.6)};
  judge_readings(report, {}, kKinds);
  EXPECT_FALSE(report.better || report.perhaps) << report.answer;
  EXPECT_EQ(report.answer.find("look right"), std::string::npos) << report.answer;

  report.readings = {reading("", {}, 0.39), reading("times 255", {}, 0.94)};
  judge_readings(report, {}, kKinds);
  EXPECT_FALSE(report.better);
  EXPECT_EQ(report.perhaps, "times 255") << "a trained network is surer than that of what it was trained on";

  report.readings = {reading("", {}, 0.5), reading("divided by 255", {}, 0.9)};
  judge_readings(report, {}, kKinds);
  EXPECT_EQ(report.better, "divided by 255") << "smaller values make it less sure, if they are wrong";
}

// Enlarged pictures have less detail than those of training.
TEST(ReadingVerdict, ARangeThatFitsAtHalfTheMisfitIsNotSurelyTraining) {
  CheckDataReport report;
  report.readings = {reading("", 0.336), reading("times 255", 0.182)};
  judge_readings(report, {}, kKinds);
  EXPECT_FALSE(report.better);
  EXPECT_EQ(report.perhaps, "times 255");
}

// Behind edges a factor and less detail look alike; means that come nearer to training's tell them apart.
TEST(ReadingVerdict, ASmallFactorIsToldFromLessDetailByTheMeans) {
  const auto judged = [](double scale, double shift) {
    const ReadingKinds kinds{{"", {0, false, false, 1, 0.3}}, {"0..1 to -1..1", {1, true, true, scale, shift}}};
    CheckDataReport report;
    report.readings = {reading("", 1.48), reading("0..1 to -1..1", 0.26)};
    judge_readings(report, {}, kinds);
    return report;
  };
  EXPECT_FALSE(judged(2, 0.29).better);
  EXPECT_TRUE(judged(2, 0.29).unlike_training);
  EXPECT_NE(judged(2, 0.29).answer.find("less detail"), std::string::npos);
  EXPECT_EQ(judged(2, 0.1).better, "0..1 to -1..1");
  EXPECT_EQ(judged(255, 0.29).better, "0..1 to -1..1") << "no picture has so little detail";
}

TEST(ReadingVerdict, InputsThatFitAreNotDoubtedForAThousandthOfANat) {
  CheckDataReport report;
  report.readings = {reading("", 0.00138), reading("red and blue swapped", 0.0012)};
  judge_readings(report, {}, kKinds);
  EXPECT_FALSE(report.better || report.perhaps);
  EXPECT_NE(report.answer.find("look right"), std::string::npos) << report.answer;
}

TEST(ReadingVerdict, SaysThatThereIsNothingToJudgeBy) {
  CheckDataReport report;
  report.readings = {reading("", std::nullopt)};
  judge_readings(report, {}, kKinds);
  EXPECT_EQ(report.decided_by, "");
  EXPECT_NE(report.answer.find("The inputs cannot be checked: the file"), std::string::npos);
}

}  // namespace
}  // namespace vernier
