#include "json/python_json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "json/fields.h"

namespace vernier {
namespace {

TEST(PythonJson, NumbersAreWhatPythonPrints) {
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
  for (const auto& [value, text] : cases) EXPECT_EQ(python_number(value), text);
}

TEST(PythonJson, NamesAreEscapedAsPythonDoes) {
  EXPECT_EQ(json_quoted("a\"b\\c/", /*ascii=*/true), R"("a\"b\\c/")");
  EXPECT_EQ(json_quoted(std::string("\0\x1f\x7f\b\f\n\r\t", 8), /*ascii=*/true), R"("\u0000\u001f\u007f\b\f\n\r\t")");
  EXPECT_EQ(json_quoted("ä€😀", /*ascii=*/true), R"("\u00e4\u20ac\ud83d\ude00")");
}

TEST(PythonJson, BytesThatAreNoUtf8BecomeTheReplacementCharacter) {
  EXPECT_EQ(json_quoted("a\xFFz", /*ascii=*/true), R"("a\ufffdz")");
  EXPECT_EQ(json_quoted("\xC3", /*ascii=*/true), R"("\ufffd")");
  EXPECT_EQ(json_quoted("\xE2\x82", /*ascii=*/true), R"("\ufffd")");
  EXPECT_EQ(json_quoted("\xC0\xAF", /*ascii=*/true), R"("\ufffd\ufffd")");                      // overlong
  EXPECT_EQ(json_quoted("\xED\xA0\x80", /*ascii=*/true), R"("\ufffd\ufffd\ufffd")");            // half a surrogate pair
  EXPECT_EQ(json_quoted("\xF4\x90\x80\x80", /*ascii=*/true), R"("\ufffd\ufffd\ufffd\ufffd")");  // above Unicode
}

TEST(PythonJson, IsLaidOutAsJsonDumpsDoes) {
  const Json value = Json::Object{{"a", Json::Array{1, 2.0, Json()}}, {"é", Json::object()}, {"b", true}};
  EXPECT_EQ(
      python_json(value),
      "{\n    \"a\": [\n        1,\n        2.0,\n        null\n    ],\n    \"\\u00e9\": {},\n    \"b\": true\n}");
}

TEST(PythonJson, WordsOfPythonAreReadAsNumbersAndStayInTexts) {
  const Json read = parse_python_json(R"({"x": [NaN, Infinity, -Infinity], "y": "NaN, \" Infinity"})", "p");
  std::vector<double> numbers;
  read_json(read.at("x"), Place(read.at("y").text()), numbers);
  ASSERT_EQ(numbers.size(), 3U);
  EXPECT_TRUE(std::isnan(numbers[0]));
  EXPECT_EQ(numbers[1], std::numeric_limits<double>::infinity());
  EXPECT_EQ(numbers[2], -std::numeric_limits<double>::infinity());
  EXPECT_EQ(read.at("y"), "NaN, \" Infinity");
}

}  // namespace
}  // namespace vernier
