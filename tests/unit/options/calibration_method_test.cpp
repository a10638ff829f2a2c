#include <gtest/gtest.h>

#include "vernier/calibration.h"

namespace vernier {
namespace {

TEST(CalibrationMethod, IsReadByItsNames) {
  for (const char* name : {"minmax", "percentile", "entropy", "mse", "aciq", "auto"}) {
    ASSERT_TRUE(parse_calibration_method(name)) << name;
    EXPECT_EQ(method_name(parse_calibration_method(name)->method), name);
  }
  EXPECT_EQ(parse_calibration_method("max")->method, CalibrationMethod::MinMax);
  EXPECT_EQ(parse_calibration_method("percentile")->percentile, 99.999);
  EXPECT_EQ(parse_calibration_method("percentile:99.9")->percentile, 99.9);
}

TEST(CalibrationMethod, RefusesEverythingElse) {
  for (const char* text : {"", "MinMax", "kl", "percentile:", "percentile:50", "percentile:101", "percentile:nan",
                           "percentile:99x", "mse:3", "distribution"}) {
    EXPECT_FALSE(parse_calibration_method(text)) << text;
  }
}

}  // namespace
}  // namespace vernier
