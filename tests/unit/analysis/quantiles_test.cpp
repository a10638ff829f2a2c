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

TEST(Quantiles, OfPoissonWhereOneEventWasSeenAgreeWithTables) {
  EXPECT_NEAR(most_events(0.9), 3.8897, 1e-4);
  EXPECT_NEAR(most_events(0.975), 5.5716, 1e-4);
}

}  // namespace
}  // namespace vernier
