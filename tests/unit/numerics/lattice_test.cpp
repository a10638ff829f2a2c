#include "numerics/lattice.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace vernier {
namespace {

std::vector<float> filled(int count, float (*value)(int)) {
  std::vector<float> values;
  for (int i = 0; i < count; ++i) values.push_back(value(i));
  return values;
}

TEST(Lattice, FindsTheStepOfQuantizedWeights) {
  const std::vector<float> w = filled(64, [](int i) { return 0.0123F * static_cast<float>(i % 41 - 20); });
  const auto lattice = lattice_of(w);
  ASSERT_TRUE(lattice);
  EXPECT_NEAR(lattice->step, 0.0123, 1e-7);
  EXPECT_EQ(lattice->largest, 20);
  EXPECT_EQ(lattice->beyond(19, w), 3);
}

TEST(Lattice, OrdinaryWeightsLieOnNone) {
  EXPECT_FALSE(lattice_of(filled(64, [](int i) { return std::sin(static_cast<float>(i)); })));
  // Nearly on a grid is not on it.
  EXPECT_FALSE(lattice_of(filled(64, [](int i) {
    return 0.0123F * (static_cast<float>(i % 41 - 20) + 0.05F * std::sin(static_cast<float>(i)));
  })));
}

TEST(Lattice, ManyValuesAreTheSame) {
  const std::vector<float> on = filled(50'000, [](int i) { return 0.0123F * static_cast<float>(i * 8 % 511 - 255); });
  const auto lattice = lattice_of(on);
  ASSERT_TRUE(lattice);
  EXPECT_NEAR(lattice->step, 0.0123, 1e-7);
  EXPECT_EQ(lattice->distinct, 511U);
  EXPECT_FALSE(lattice_of(filled(50'000, [](int i) { return std::sin(static_cast<float>(i)); })));
  std::vector<float> nearly = on;
  nearly[12'345] += 0.005F;  // one that some of them need not show
  EXPECT_FALSE(lattice_of(nearly));
}

TEST(Lattice, TooFewValuesTellNothing) {
  EXPECT_FALSE(lattice_of(filled(8, [](int i) { return static_cast<float>(i); })));
  EXPECT_FALSE(lattice_of(filled(64, [](int i) { return static_cast<float>(i % 3); })));
  EXPECT_FALSE(lattice_of(filled(64, [](int) { return 0.0F; })));
  EXPECT_FALSE(lattice_of(filled(64, [](int i) { return i == 5 ? INFINITY : static_cast<float>(i); })));
}

}  // namespace
}  // namespace vernier
