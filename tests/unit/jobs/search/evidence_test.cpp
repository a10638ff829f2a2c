// What is told of layers whose effect on the outputs was not measured.
#include "jobs/search/evidence.h"

#include <gtest/gtest.h>

#include <string>

#include "numerics/metrics.h"
#include "vernier/requirement.h"

namespace vernier {
namespace {

ErrorStats error_of(double share) {
  ErrorStats stats;
  stats.count = 1;
  stats.ref_energy = 1;
  stats.error_energy = share;
  return stats;
}

/// Own errors, and those of the outputs with that layer alone low.
Evidence measured(const std::string& layer, double own, double output) {
  Evidence evidence;
  evidence.own[layer].error = error_of(own);
  evidence.alone[layer]["y"].pooled = error_of(output);
  return evidence;
}

TEST(Presumed, GrowsWithTheLayersOwnError) {
  const Requirement requirement{Metric::MinSqnrDb, {{20, ""}}};
  const Evidence known = measured("conv", 0.001, 0.002);
  Evidence other;
  other.own["conv"].error = error_of(0.003);
  ASSERT_TRUE(presume(known, {"conv"}, &requirement, other));
  const double damage = predicted_damage(known, "conv", &requirement);
  EXPECT_GT(damage, 0);
  EXPECT_NEAR(predicted_damage(other, "conv", &requirement), 3 * damage, 1e-9 * damage);
  EXPECT_TRUE(other.alone.empty()) << "it was not measured";
}

TEST(Presumed, GivesWayToWhatIsMeasured) {
  const Requirement requirement{Metric::MinSqnrDb, {{20, ""}}};
  Evidence evidence = measured("conv", 0.001, 0.002);
  evidence.presumed["conv"] = 7;
  EXPECT_LT(predicted_damage(evidence, "conv", &requirement), 7);
}

TEST(Presumed, IsNothingWhereOneLayerIsUnknown) {
  const Requirement requirement{Metric::MinSqnrDb, {{20, ""}}};
  const Evidence known = measured("conv", 0.001, 0.002);
  Evidence other;
  other.own["conv"].error = error_of(0.003);
  other.own["add"].error = error_of(0.003);
  EXPECT_FALSE(presume(known, {"conv", "add"}, &requirement, other)) << "it was not low there";
  EXPECT_FALSE(presume(measured("conv", 0, 0), {"conv"}, &requirement, other)) << "it had no error there";
  other.own["conv"].error.got_nan = 1;
  EXPECT_FALSE(presume(known, {"conv"}, &requirement, other)) << "it is not finite here";
  EXPECT_TRUE(other.presumed.empty());
}

}  // namespace
}  // namespace vernier
