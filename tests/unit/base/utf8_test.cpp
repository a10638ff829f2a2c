#include "base/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace vernier {
namespace {

TEST(Utf8, ReadsLettersOfOneToFourBytes) {
  const std::string text = "a\u00FC\u20AC\U0001F600";
  std::size_t at = 0;
  for (const std::int32_t expected : {0x61, 0xFC, 0x20AC, 0x1F600}) {
    const CodePoint point = code_point(text, at);
    EXPECT_EQ(point.value, expected);
    at += point.bytes;
  }
  EXPECT_EQ(at, text.size());
}

TEST(Utf8, TellsBytesThatAreNone) {
  EXPECT_TRUE(is_utf8(""));
  EXPECT_TRUE(is_utf8("gr\u00FC\u00DF"));
  // A lone continuation, a cut letter, an overlong slash, half of a surrogate pair, above U+10FFFF.
  for (const char* text : {"\x80", "\xE2\x82", "\xC0\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xFF"}) {
    EXPECT_FALSE(is_utf8(text));
    EXPECT_EQ(code_point(text, 0).value, -1);
    EXPECT_EQ(code_point(text, 0).bytes, 1U);
  }
}

TEST(Utf8, CountsColumnsAsTerminalsDo) {
  EXPECT_EQ(columns_of({'a', 1}), 1U);
  EXPECT_EQ(columns_of({0x5377, 3}), 2U) << "a Chinese letter";
  EXPECT_EQ(columns_of({0x1F600, 4}), 2U) << "an emoji";
  EXPECT_EQ(columns_of({0x0301, 2}), 0U) << "a combining accent";
  EXPECT_EQ(columns_of({-1, 1}), 1U);
}

TEST(Utf8, KnowsWhatCannotBeSeenOrTurnsText) {
  for (const std::int32_t value :
       {0x07, 0x1B, 0x7F, 0x9B, 0xAD, 0x200B, 0x200D, 0x2028, 0x202E, 0x2066, 0xFEFF, 0xE0041}) {
    EXPECT_TRUE(treacherous({value, 1})) << std::hex << value;
  }
  for (const std::int32_t value : {0x20, 0x41, 0xA0, 0x20AC, 0x5377, 0x1F600}) {
    EXPECT_FALSE(treacherous({value, 1})) << std::hex << value;
  }
}

}  // namespace
}  // namespace vernier
