#include "jobs/diagnose/diagnosis_steps.h"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "vernier/sinks.h"

namespace vernier {
namespace {

class Steps : public ::testing::Test {
 protected:
  Steps() {
    sinks_.step = [this](const JobStep& step) { told_.push_back(step); };
  }
  void pass(double seconds) {
    now_ += std::chrono::duration_cast<DiagnosisSteps::Clock::duration>(std::chrono::duration<double>(seconds));
  }
  /// Of the whole job, as the last step tells it at its beginning.
  double seconds_in_all(double spent) const { return spent / told_.back().behind; }

  JobSinks sinks_;
  std::vector<JobStep> told_;
  DiagnosisSteps::Clock::time_point now_{};
  DiagnosisSteps steps_{sinks_, [this] { return now_; }};
};

TEST_F(Steps, WhatIsToComeFollowsFromWhatStepsTook) {
  steps_.add("load", 1);
  steps_.add("reference", 2);
  steps_.add("local error", 4);
  steps_.add("search", 10);
  steps_.begin("load");
  EXPECT_EQ(told_.back().behind, 0);
  EXPECT_NEAR(told_.back().share, 1.0 / 17, 1e-9);
  pass(60);  // a large file
  steps_.begin("reference");
  pass(4);
  steps_.begin("local error");
  EXPECT_NEAR(seconds_in_all(64), 64 + 14 * 2, 1e-6) << "two seconds a pass, whatever the file took";
  EXPECT_NEAR(told_.back().share, 8.0 / 92, 1e-9);
  pass(8);
  steps_.expect("search", 30);
  steps_.begin("search");
  EXPECT_NEAR(seconds_in_all(72), 72 + 60, 1e-6);
  EXPECT_EQ(told_.back().number, 4U);
  EXPECT_NEAR(told_.back().behind + told_.back().share, 1, 1e-9);
}

TEST_F(Steps, PassesOverWhatHasNothingToDoAndWhatIsNoStep) {
  steps_.add("load", 1);
  steps_.add("sensitivity", 50);
  steps_.add("search", 1);
  steps_.begin("load");
  pass(1);
  steps_.begin("verify");
  ASSERT_EQ(told_.size(), 1U) << "no step of its own";
  pass(1);
  steps_.begin("search");
  EXPECT_EQ(told_.back().number, 3U);
  EXPECT_NEAR(seconds_in_all(2), 4, 1e-6) << "what was left out takes no time";
}

}  // namespace
}  // namespace vernier
