#include "base/nibbles.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace vernier {
namespace {

TEST(Nibbles, EveryPairOfCodesComesBack) {
  for (int first = -8; first < 8; ++first) {
    for (int second = -8; second < 8; ++second) {
      const std::vector<std::byte> bytes =
          packed_nibbles(std::vector<std::byte>{static_cast<std::byte>(first), static_cast<std::byte>(second)});
      ASSERT_EQ(bytes.size(), 1U);
      EXPECT_EQ(nibble(bytes, 0, true), first);
      EXPECT_EQ(nibble(bytes, 1, true), second);
      EXPECT_EQ(nibble(bytes, 0, false), first & 0xF);
      EXPECT_EQ(nibble(bytes, 1, false), second & 0xF);
    }
  }
}

TEST(Nibbles, TheFirstIsTheLowHalfAndAnOddLastHasZeroAbove) {
  const std::vector<std::byte> codes{std::byte{0x1}, std::byte{0x2}, std::byte{0xFF}};
  EXPECT_EQ(packed_nibbles(codes), (std::vector<std::byte>{std::byte{0x21}, std::byte{0x0F}}));
  EXPECT_TRUE(packed_nibbles({}).empty());
}

}  // namespace
}  // namespace vernier
