#include "io/json_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace vernier {
namespace {

TEST(JsonText, NumbersAreWhatPythonPrints) {
  // value, repr(value) of CPython
  const std::vector<std::pair<double, std::string>> cases{{0.0, "0.0"},
                                                          {-0.0, "-0.0"},
                                                          {1.0, "1.0"},
                                                          {0.008432149887084961, "0.008432149887084961"},
                                                          {1e-4, "0.0001"},
                                                          {1e-5, "1e-05"},
                                                          {1.5e-7, "1.5e-07"},
                                                          {123456.0, "123456.0"},
                                                          {1e15, "1000000000000000.0"},
                                                          {9007199254740993.0, "9007199254740992.0"},
                                                          {1e16, "1e+16"},
                                                          {1.25e100, "1.25e+100"},
                                                          {5e-324, "5e-324"},
                                                          {0.1 + 0.2, "0.30000000000000004"},
                                                          {std::numeric_limits<double>::infinity(), "Infinity"},
                                                          {-std::numeric_limits<double>::infinity(), "-Infinity"},
                                                          {std::nan(""), "NaN"}};
  for (const auto& [value, text] : cases) EXPECT_EQ(json_number(value), text);
}

TEST(JsonText, NamesAreEscapedAsPythonDoes) {
  EXPECT_EQ(json_quoted("a\"b\\c/"), R"("a\"b\\c/")");
  EXPECT_EQ(json_quoted(std::string("\0\x1f\x7f\b\f\n\r\t", 8)), R"("\u0000\u001f\u007f\b\f\n\r\t")");
  EXPECT_EQ(json_quoted("ä€😀"), R"("\u00e4\u20ac\ud83d\ude00")");
}

TEST(JsonText, BytesThatAreNoUtf8BecomeTheReplacementCharacter) {
  EXPECT_EQ(json_quoted("a\xFFz"), R"("a\ufffdz")");
  EXPECT_EQ(json_quoted("\xC3"), R"("\ufffd")");
  EXPECT_EQ(json_quoted("\xE2\x82"), R"("\ufffd\ufffd")");
  EXPECT_EQ(json_quoted("\xC0\xAF"), R"("\ufffd\ufffd")");                      // overlong
  EXPECT_EQ(json_quoted("\xED\xA0\x80"), R"("\ufffd\ufffd\ufffd")");            // half a surrogate pair
  EXPECT_EQ(json_quoted("\xF4\x90\x80\x80"), R"("\ufffd\ufffd\ufffd\ufffd")");  // above Unicode
}

}  // namespace
}  // namespace vernier
