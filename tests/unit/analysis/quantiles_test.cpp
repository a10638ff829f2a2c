#include "analysis/quantiles.h"

#include <gtest/gtest.h>

namespace vernier {
namespace {

TEST(Quantiles, OfStudentAgreeWithTables) {
  EXPECT_NEAR(student_quantile(0.95, 7), 1.8946, 2e-4);
  EXPECT_NEAR(student_quantile(0.99, 7), 2.9980, 3e-4);
  EXPECT_NEAR(student_quantile(0.995, 15), 2.9467, 3e-4);
  EXPECT_NEAR(student_quantile(0.999, 63), 3.2251, 4e-4);
  EXPECT_NEAR(student_quantile(0.975, 1), 12.7062, 1e-3);
  EXPECT_NEAR(student_quantile(0.975, 2), 4.3027, 1e-3);
}

TEST(Quantiles, OfTheNormalDistributionAgreeWithTables) {
  EXPECT_NEAR(normal_quantile(0.9), 1.281552, 1e-6);
  EXPECT_NEAR(normal_quantile(0.975), 1.959964, 1e-6);
}

// (1 + 6) / 2^6 = 7 / 64, and (1 + 11) / 2^11 = 12 / 2048.
TEST(Quantiles, OfEventsInAsManyNewSamplesAreThoseOfHalfTheEvents) {
  EXPECT_NEAR(most_new_events(1 - 7.0 / 64), 5, 1e-9);
  EXPECT_NEAR(most_new_events(1 - 12.0 / 2048), 10, 1e-9);
}

}  // namespace
}  // namespace vernier
