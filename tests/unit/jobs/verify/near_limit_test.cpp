#include "jobs/verify/near_limit.h"

#include "job_files.h"
#include "jobs/common/load.h"
#include "jobs/common/sources.h"
#include "vernier/format.h"
#include "vernier/report/figures.h"
#include "vernier/requirement.h"
#include "vernier/sinks.h"
#include "vernier/verify.h"

namespace vernier::testing {
namespace {

class NearLimit : public ::testing::Test {
 protected:
  NearLimit() {
    options_.measure.requirement = requirement_;
    loaded_.emplace(load_judged(options_.float_model, {.formats = {Format::Float32}}, sources_));
  }

  /// The model against itself: whatever was measured before, this time it is exact.
  std::optional<BothOrders> beside_exact(double damage) {
    RunFigures figures;
    figures.damage = damage;
    figures.passed = damage <= 1;
    return measure_other_order(loaded_->subject, loaded_->subject.model, figures, &requirement_);
  }

  const NetFiles files_;
  const Requirement requirement_{Metric::MinSqnrDb, {{20, ""}}};
  VerifyOptions options_ = files_.verify_options(files_.model_file());
  const JobSinks sinks_;
  Sources sources_{options_.measure, sinks_};
  std::optional<Loaded> loaded_;
};

TEST_F(NearLimit, WhatIsMetInOneOrderOnlyIsMissed) {
  const auto both = beside_exact(1.1);
  ASSERT_TRUE(both);
  EXPECT_EQ(both->worse.passed, false);
  EXPECT_EQ(both->worse.damage, 1.1);
  EXPECT_TRUE(both->doubtful);
  ASSERT_TRUE(both->note);
  EXPECT_EQ(both->note->code, "near-the-limit");
  EXPECT_EQ(*both->note->find("required"), NoteValue("the required 20 dB"));
}

TEST_F(NearLimit, TheWorseOrderCountsWhereBothAgree) {
  const auto both = beside_exact(0.9);
  ASSERT_TRUE(both);
  EXPECT_EQ(both->worse.damage, 0.9);
  EXPECT_FALSE(both->doubtful);
  ASSERT_TRUE(both->note);
  EXPECT_EQ(both->note->code, "orders-differ");
}

TEST_F(NearLimit, IsNotMeasuredFarFromIt) {
  EXPECT_FALSE(beside_exact(0.4));
  EXPECT_FALSE(beside_exact(2.5));
  EXPECT_FALSE(measure_other_order(loaded_->subject, loaded_->subject.model, {}, nullptr)) << "nothing is required";
}

}  // namespace
}  // namespace vernier::testing
