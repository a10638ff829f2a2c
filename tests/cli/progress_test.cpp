#include "console/progress.h"

#include <gtest/gtest.h>

namespace vernier::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const Progress::Time kStart{};

TEST(Progress, SaysNothingInTheFirstSecond) {
  Progress progress(/*redraws=*/true, kStart);
  EXPECT_FALSE(progress.line("phase", 0, 10, kStart));
  EXPECT_FALSE(progress.line("phase", 1, 10, kStart + milliseconds(999)));
  EXPECT_TRUE(progress.line("phase", 1, 10, kStart + milliseconds(1000)));
}

TEST(Progress, RedrawsAtMostTenTimesASecond) {
  Progress progress(/*redraws=*/true, kStart);
  int lines = 0;
  for (int ms = 1000; ms < 2000; ++ms) lines += progress.line("phase", 1, 10, kStart + milliseconds(ms)) ? 1 : 0;
  EXPECT_EQ(lines, 10);
}

TEST(Progress, PrintsPlainLinesEveryFiveSeconds) {
  Progress progress(/*redraws=*/false, kStart);
  int lines = 0;
  for (int ms = 0; ms <= 21000; ms += 50) lines += progress.line("phase", 1, 10, kStart + milliseconds(ms)) ? 1 : 0;
  EXPECT_EQ(lines, 5);  // after 1, 6, 11, 16 and 21 seconds
}

TEST(Progress, BeatsEveryHalfMinuteInAPipe) {
  Progress progress(/*redraws=*/false, kStart);
  progress.only_heartbeat();
  int lines = 0;
  for (int ms = 0; ms <= 99000; ms += 50) lines += progress.line("phase", 1, 10, kStart + milliseconds(ms)) ? 1 : 0;
  EXPECT_EQ(lines, 4);  // after 5, 35, 65 and 95 seconds
}

TEST(Progress, NamesEachStepOnceInAPipe) {
  Progress progress(/*redraws=*/false, kStart);
  progress.only_heartbeat();
  progress.step({"calibration", 1, 3, 0, 0.1});
  EXPECT_FALSE(progress.line("measuring", 1, 10, kStart + seconds(2))) << "short jobs stay silent";
  EXPECT_EQ(progress.line("measuring", 5, 10, kStart + seconds(5)), "1 of 3  calibration  about 1 min 36 s left");
  EXPECT_FALSE(progress.line("measuring", 9, 10, kStart + seconds(8)));
  progress.step({"search", 2, 3, 0.1, 0.8});
  EXPECT_TRUE(progress.line("trial", 1, 0, kStart + seconds(9)).value_or("").starts_with("2 of 3  search"));
  EXPECT_FALSE(progress.line("trial", 2, 0, kStart + seconds(20)));
  EXPECT_TRUE(progress.line("trial", 3, 0, kStart + seconds(39)).value_or("").starts_with("2 of 3  trial  3"));
}

TEST(Progress, NamesEachPhaseOfAJobWithoutStepsInAPipe) {
  Progress progress(/*redraws=*/false, kStart);
  progress.only_heartbeat();
  EXPECT_EQ(progress.line("measuring", 1, 0, kStart + seconds(6)), "measuring  1");
  EXPECT_FALSE(progress.line("measuring", 2, 0, kStart + seconds(9)));
  EXPECT_EQ(progress.line("comparing", 1, 0, kStart + seconds(9)), "comparing  1");
}

TEST(Progress, ShowsShareAndTimeLeftOfThePhase) {
  Progress progress(/*redraws=*/true, kStart);
  EXPECT_FALSE(progress.line("first", 1, 2, kStart));
  EXPECT_EQ(progress.line("second", 0, 40, kStart + seconds(10)), "second  0/40  0 %");
  EXPECT_EQ(progress.line("second", 10, 40, kStart + seconds(20)), "second  10/40  25 %  about 31 s left");
  EXPECT_EQ(progress.line("second", 40, 40, kStart + seconds(50)), "second  40/40  100 %");
}

TEST(Progress, EstimatesAnewWhenAPhaseOfTheSameNameFollows) {
  Progress progress(/*redraws=*/true, kStart);
  progress.line("trial", 1, 8, kStart);
  progress.line("trial", 8, 8, kStart + seconds(60));
  EXPECT_EQ(progress.line("trial", 1, 8, kStart + seconds(70)), "trial  1/8  12 %") << "nothing is known yet";
  EXPECT_EQ(progress.line("trial", 3, 8, kStart + seconds(74)), "trial  3/8  37 %  about 11 s left") << "2 s each";
}

TEST(Progress, CountsOnWhenTheTotalIsUnknown) {
  Progress progress(/*redraws=*/true, kStart);
  EXPECT_EQ(progress.line("search", 7, 0, kStart + seconds(5)), "search  7");
}

TEST(Progress, SaysWhichStepItIsAndWhatIsLeftOfTheJob) {
  Progress progress(/*redraws=*/true, kStart);
  progress.step({"local error", 2, 4, 0.1, 0.2});
  EXPECT_EQ(progress.line("sample", 0, 10, kStart + seconds(5)), "2 of 4  sample  0/10  0 %  about 46 s left");
  EXPECT_EQ(progress.line("sample", 5, 10, kStart + seconds(10)), "2 of 4  sample  5/10  50 %  about 41 s left");
  progress.step({"search", 3, 4, 0.3, 0.6});
  EXPECT_EQ(progress.line("search", 15, 0, kStart + seconds(30)), "3 of 4  search  15  about 21 s left") << "half way";
}

TEST(Progress, OfSeveralPhasesTheClockSaysWhatIsLeft) {
  Progress progress(/*redraws=*/true, kStart);
  progress.step({"curve", 3, 4, 0.5, 0.3});  // begins after 20 of 40 seconds and takes 12
  EXPECT_EQ(progress.line("trial", 0, 10, kStart + seconds(20)), "3 of 4  trial  0/10  0 %  about 21 s left");
  EXPECT_EQ(progress.line("trial", 9, 10, kStart + seconds(23)), "3 of 4  trial  9/10  90 %  about 7 s left");
  EXPECT_EQ(progress.line("trial", 1, 10, kStart + seconds(24)), "3 of 4  trial  1/10  10 %  about 17 s left")
      << "one of several, it turns out";
  EXPECT_EQ(progress.line("trial", 1, 10, kStart + seconds(50)), "3 of 4  trial  1/10  10 %  longer than usual")
      << "nobody knows how much longer";
}

TEST(Progress, GuessesNoEndFromTheFirstMoments) {
  Progress progress(/*redraws=*/true, kStart);
  progress.step({"load", 1, 4, 0, 0.02});
  EXPECT_EQ(progress.line("loading", 1, 2, kStart + seconds(5)), "1 of 4  loading  1/2  50 %");
  progress.step({"local error", 2, 4, 0.02, 0.2});
  EXPECT_EQ(progress.line("sample", 5, 10, kStart + milliseconds(5200)), "2 of 4  sample  5/10  50 %  about 39 s left");
}

TEST(DurationText, NamesTheTwoLargestUnits) {
  EXPECT_EQ(duration_text(seconds(59)), "59 s");
  EXPECT_EQ(duration_text(seconds(60)), "1 min 0 s");
  EXPECT_EQ(duration_text(seconds(3599)), "59 min 59 s");
  EXPECT_EQ(duration_text(seconds(7500)), "2 h 5 min");
}

}  // namespace
}  // namespace vernier::cli
