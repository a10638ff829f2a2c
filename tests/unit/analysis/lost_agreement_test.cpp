#include "analysis/lost_agreement.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace vernier {
namespace {

using Moved = std::vector<std::int64_t>;

TEST(AgreementChange, IsAOneSidedSignTest) {
  const AgreementChange five = agreement_change(Moved(10), Moved{1, 1, 1, 1, 1, 0, 0, 0, 0, 0});
  EXPECT_EQ(five.worse, 5U);
  EXPECT_EQ(five.better, 0U);
  EXPECT_DOUBLE_EQ(five.chance, 1.0 / 32);
  EXPECT_TRUE(five.costs());
  const AgreementChange seven = agreement_change(Moved{0, 0, 0, 0, 0, 0, 0, 1}, Moved{1, 1, 1, 1, 1, 1, 1, 0});
  EXPECT_EQ(seven.worse, 7U);
  EXPECT_EQ(seven.better, 1U);
  EXPECT_NEAR(seven.chance, 9.0 / 256, 1e-12) << "8 or 7 of 8";
  EXPECT_TRUE(seven.costs());
}

TEST(AgreementChange, CountsSamplesNotRows) {
  const AgreementChange change = agreement_change(Moved{0, 0}, Moved{100, 0});
  EXPECT_EQ(change.worse, 1U);
  EXPECT_FALSE(change.costs()) << "rows of one sample depend on each other";
}

TEST(AgreementChange, WithoutClassesNothingChanges) {
  EXPECT_EQ(agreement_change({}, {}).chance, 1);
  EXPECT_FALSE(agreement_change({}, Moved(20, 1)).costs());
  EXPECT_FALSE(agreement_change(Moved(20, 1), Moved(20, 1)).costs());
}

}  // namespace
}  // namespace vernier
