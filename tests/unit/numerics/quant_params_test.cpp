#include <gtest/gtest.h>

#include <cfloat>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "numerics/grid.h"
#include "oracle.h"
#include "vernier/error.h"
#include "vernier/format.h"

namespace vernier::test {
namespace {

TEST(SymmetricParams, PutsTheLargestValueOnTheLargestCode) {
  const struct {
    Format format;
    float largest;
    int lowest_code;
  } rows[] = {
      {Format::Int8, 127, -127}, {Format::Int4, 7, -7}, {Format::Float8E4M3FN, 448, 0}, {Format::Float8E5M2, 57344, 0}};
  for (const auto& row : rows) {
    const float absmax[] = {3.5f};
    const QuantParams params = symmetric_params(row.format, absmax, -1);
    EXPECT_EQ(params.scale, std::vector<float>{3.5f / row.largest});
    EXPECT_EQ(params.lowest_code, row.lowest_code);
    EXPECT_EQ(params.axis, -1);
    EXPECT_TRUE(params.zero_point.empty());
    EXPECT_FLOAT_EQ(round_one(params, -3.5f), -3.5f);
    EXPECT_FLOAT_EQ(round_one(params, -100.0f), -3.5f);
  }
}

TEST(SymmetricParams, KeepsOneScaleForEachChannel) {
  const float absmax[] = {127.0f, 12.7f};
  const QuantParams params = symmetric_params(Format::Int8, absmax, 0);
  EXPECT_EQ(params.scale, (std::vector<float>{1.0f, 12.7f / 127.0f}));
  EXPECT_EQ(params.axis, 0);
}

TEST(SymmetricParams, GivesZerosAndTinyRangesAUsableScale) {
  const float absmax[] = {0.0f, 1e-40f, FLT_MIN, 127 * FLT_MIN};
  const QuantParams params = symmetric_params(Format::Int8, absmax, 0);
  EXPECT_EQ(params.scale, (std::vector<float>{1.0f / 127, 1.0f / 127, 1.0f / 127, FLT_MIN}));
}

TEST(SymmetricParams, NeedsNoScaleWhereTheFormatHasNone) {
  const float absmax[] = {3.0f};
  EXPECT_TRUE(symmetric_params(Format::Float16, absmax, -1).scale.empty());
  EXPECT_TRUE(symmetric_params(Format::Float32, {}, -1).scale.empty());
}

TEST(SymmetricParams, RefusesWhatIsNoRange) {
  const float nan[] = {std::numeric_limits<float>::quiet_NaN()};
  const float negative[] = {-1.0f};
  const float two[] = {1.0f, 2.0f};
  EXPECT_THROW(symmetric_params(Format::Int8, nan, -1), Error);
  EXPECT_THROW(symmetric_params(Format::Int8, negative, -1), Error);
  EXPECT_THROW(symmetric_params(Format::Int8, two, -1), Error);
  EXPECT_THROW(symmetric_params(Format::Int8, {}, -1), Error);
  EXPECT_THROW(symmetric_params(Format::UInt8, two, 0), Error);
}

TEST(AsymmetricParams, HoldsTheRangeAndAnExactZero) {
  const QuantParams params = asymmetric_params(-1.0f, 3.0f);
  EXPECT_EQ(params.format, Format::UInt8);
  EXPECT_EQ(params.scale, std::vector<float>{4.0f / 255});
  EXPECT_EQ(params.zero_point, std::vector<std::int32_t>{64});
  EXPECT_EQ(round_one(params, 0.0f), 0.0f);
  EXPECT_NEAR(round_one(params, 3.0f), 3.0f, params.scale[0] / 2 * 1.001f);
  EXPECT_NEAR(round_one(params, -1.0f), -1.0f, params.scale[0] / 2 * 1.001f);
}

TEST(AsymmetricParams, StretchesTheRangeToHoldZero) {
  EXPECT_EQ(asymmetric_params(2.0f, 5.1f).zero_point, std::vector<std::int32_t>{0});
  EXPECT_EQ(asymmetric_params(2.0f, 5.1f).scale, std::vector<float>{5.1f / 255});
  EXPECT_EQ(asymmetric_params(-5.1f, -2.0f).zero_point, std::vector<std::int32_t>{255});
}

TEST(AsymmetricParams, SurvivesTheExtremes) {
  EXPECT_EQ(asymmetric_params(0.0f, 0.0f).scale, std::vector<float>{1.0f / 255});
  EXPECT_EQ(asymmetric_params(0.0f, 0.0f).zero_point, std::vector<std::int32_t>{0});
  EXPECT_EQ(asymmetric_params(-FLT_MAX, FLT_MAX).zero_point, std::vector<std::int32_t>{128});
  EXPECT_THROW(asymmetric_params(1.0f, -1.0f), Error);
  EXPECT_THROW(asymmetric_params(0.0f, std::numeric_limits<float>::infinity()), Error);
}

TEST(ScaleDefect, IsNoneOfWhatRangesGive) {
  const float largest[] = {FLT_MAX};
  const float tiny[] = {1e-40f};
  for (const Format format : {Format::Int8, Format::Int4, Format::Float8E4M3FN, Format::Float8E5M2}) {
    EXPECT_EQ(scale_defect(symmetric_params(format, largest, -1).scale.front(), format), "") << format_name(format);
    EXPECT_EQ(scale_defect(symmetric_params(format, tiny, -1).scale.front(), format), "") << format_name(format);
  }
  EXPECT_EQ(scale_defect(asymmetric_params(-FLT_MAX, FLT_MAX).scale.front(), Format::UInt8), "");
  EXPECT_EQ(scale_defect(asymmetric_params(0, 1e-40f).scale.front(), Format::UInt8), "");
  EXPECT_EQ(scale_defect(FLT_MIN, Format::Int8), "");
}

TEST(ScaleDefect, NamesWhatNoGridCanHave) {
  for (const Format format : {Format::Int8, Format::UInt8, Format::Int4, Format::Float8E4M3FN}) {
    EXPECT_EQ(scale_defect(std::numeric_limits<float>::quiet_NaN(), format), "is not finite");
    EXPECT_EQ(scale_defect(std::numeric_limits<float>::infinity(), format), "is not finite");
    EXPECT_EQ(scale_defect(0, format), "is not positive");
    EXPECT_EQ(scale_defect(-1, format), "is not positive");
    EXPECT_NE(scale_defect(1e-45f, format).find("subnormal"), std::string_view::npos);
    EXPECT_NE(scale_defect(1e38f, format).find("too large"), std::string_view::npos);
  }
  EXPECT_NE(scale_defect(1e37f, Format::UInt8), "");
}

TEST(GridEnds, AreWhatValuesFarBeyondAreRoundedTo) {
  const float absmax[] = {3.5F};
  for (const Format format : {Format::Int8, Format::Int4, Format::Float8E4M3FN, Format::Float8E5M2}) {
    const QuantParams params = symmetric_params(format, absmax, -1);
    const GridEnds ends = grid_ends(params);
    EXPECT_FLOAT_EQ(static_cast<float>(ends.low), round_one(params, -1e9F)) << format_name(format);
    EXPECT_FLOAT_EQ(static_cast<float>(ends.high), round_one(params, 1e9F)) << format_name(format);
  }
  const QuantParams moved = asymmetric_params(-1, 3);
  EXPECT_FLOAT_EQ(static_cast<float>(grid_ends(moved).low), round_one(moved, -1e9F));
  EXPECT_FLOAT_EQ(static_cast<float>(grid_ends(moved).high), round_one(moved, 1e9F));

  QuantParams all_codes{.format = Format::Int8, .scale = {0.5F}, .zero_point = {3}};
  EXPECT_EQ(grid_ends(all_codes).low, -65.5);
  EXPECT_EQ(grid_ends(all_codes).high, 62);
  all_codes.scale.push_back(1);
  EXPECT_EQ(grid_ends(all_codes, 1).high, 124) << "one zero point for both scales";
  all_codes.zero_point = {3, -28};
  EXPECT_EQ(grid_ends(all_codes, 1).low, -100);
  EXPECT_THROW(grid_ends(all_codes, 2), Error);
}

}  // namespace
}  // namespace vernier::test
