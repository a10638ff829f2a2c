#include "vernier/device.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>

namespace vernier {
namespace {

TEST(ByteSize, ReadsNumbersWithUnits) {
  const auto expect = [](const char* text, std::uint64_t bytes) {
    const std::optional<ByteSize> size = parse_size(text);
    ASSERT_TRUE(size) << text;
    EXPECT_EQ(size->bytes, bytes) << text;
  };
  expect("1", 1);
  expect("1500000", 1500000);
  expect("512M", std::uint64_t{512} << 20U);
  expect("8g", std::uint64_t{8} << 30U);
  expect("1.5G", std::uint64_t{3} << 29U);
  expect("64K", 65536);
  expect("2T", std::uint64_t{2} << 40U);
  expect("10MB", std::uint64_t{10} << 20U);
  expect("10MiB", std::uint64_t{10} << 20U);
  expect("100B", 100);
}

TEST(ByteSize, RefusesOtherTexts) {
  for (const char* text : {"", "0", "0.5", "-1", "8X", "G", "8 G", "8Gi", "8GiBs", "nan", "inf", "1e3", "99999999T"}) {
    EXPECT_FALSE(parse_size(text)) << text;
  }
}

}  // namespace
}  // namespace vernier
