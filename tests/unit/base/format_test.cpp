#include "vernier/format.h"

#include <gtest/gtest.h>

namespace vernier {
namespace {

TEST(Format, EveryNameReadsBack) {
  for (const Format format : {Format::Float32, Format::Float16, Format::BFloat16, Format::Float8E4M3FN,
                              Format::Float8E5M2, Format::Int8, Format::UInt8, Format::Int4}) {
    EXPECT_EQ(parse_format(format_name(format)), format);
  }
}

TEST(Format, ShortFormsAreUnderstood) {
  EXPECT_EQ(parse_format("fp16"), Format::Float16);
  EXPECT_EQ(parse_format("half"), Format::Float16);
  EXPECT_EQ(parse_format("bf16"), Format::BFloat16);
  EXPECT_EQ(parse_format("fp8"), Format::Float8E4M3FN);
  EXPECT_EQ(parse_format("float"), Format::Float32);
  EXPECT_EQ(parse_format("int3"), std::nullopt);
}

TEST(Format, OnlyQuantizedFormatsNeedAScale) {
  EXPECT_FALSE(needs_scale(Format::BFloat16));
  EXPECT_TRUE(needs_scale(Format::Float8E4M3FN));
  EXPECT_EQ(bits_of(Format::Int4), 4);
}

}  // namespace
}  // namespace vernier
