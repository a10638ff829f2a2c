#include "options/parse_values.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "vernier/error.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier::cli {
namespace {

// The message, or "" when nothing was thrown or the kind is not Usage.
template <class Call>
std::string usage_error(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.kind() == ErrorKind::Usage ? error.what() : "";
  }
  return "";
}

TEST(ParseCount, AcceptsTheEndsOfItsRangeAndNothingBeyond) {
  EXPECT_EQ(parse_count("--n", "1", 1, 9), 1U);
  EXPECT_EQ(parse_count("--n", "9", 1, 9), 9U);
  EXPECT_EQ(usage_error([] { parse_count("--n", "0", 1, 9); }), "--n: '0' is not a whole number from 1 to 9");
  EXPECT_EQ(usage_error([] { parse_count("--n", "10", 1, 9); }), "--n: '10' is not a whole number from 1 to 9");
}

TEST(ParseCount, RefusesSignsFractionsBlanksAndOverflow) {
  constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(parse_count("--n", "18446744073709551615", 0, kMost), kMost);
  for (const char* text : {"", "-1", "+1", " 1", "1 ", "1.0", "1e3", "0x10", "18446744073709551616"}) {
    EXPECT_NE(usage_error([&] { parse_count("--n", text, 0, kMost); }), "") << text;
  }
}

TEST(ParseNumber, RefusesWhatIsNotFinite) {
  EXPECT_DOUBLE_EQ(parse_number("--x", "-1.5e-3"), -1.5e-3);
  for (const char* text : {"", "nan", "inf", "1e999", "1,5", "one"}) {
    EXPECT_NE(usage_error([&] { parse_number("--x", text); }), "") << text;
  }
}

TEST(ParseFormatName, ReadsLongAndShortNames) {
  EXPECT_EQ(parse_format_name("--low", "float8e4m3fn"), Format::Float8E4M3FN);
  EXPECT_EQ(parse_format_name("--low", "half"), Format::Float16);
  EXPECT_EQ(usage_error([] { parse_format_name("--low", "fp17"); }), "--low: 'fp17' is not a format");
}

TEST(ParsePair, SplitsAtTheLastColon) {
  EXPECT_EQ(parse_pair("--c", "a:0:b", "X:Y"), (std::pair<std::string, std::string>("a:0", "b")));
  for (const char* text : {"", ":", "a", "a:", ":b"}) {
    EXPECT_EQ(usage_error([&] { parse_pair("--c", text, "X:Y"); }),
              "--c: '" + std::string(text) + "' is not of the form X:Y");
  }
}

TEST(ParseValueRange, ReadsNamesWithColonsBracketsAndBlanks) {
  using Range = std::pair<std::string, std::pair<double, double>>;
  EXPECT_EQ(parse_value_range("--r", "[0,255]"), Range("", {0, 255}));
  EXPECT_EQ(parse_value_range("--r", ":[-1, 1]"), Range("", {-1, 1}));
  EXPECT_EQ(parse_value_range("--r", "x:0:[1,1]"), Range("x:0", {1, 1}));
  EXPECT_EQ(parse_value_range("--r", "x[0]:[1,2]"), Range("x[0]", {1, 2}));
  for (const char* text : {"", "x", "x:", "x:[]", "x:[1]", "x:[1,2,3]", "x[1,2]", "[1,2", "1,2]", "[a,b]", "[1,inf]"}) {
    EXPECT_NE(usage_error([&] { parse_value_range("--r", text); }), "") << text;
  }
}

TEST(ParseInputShape, ReadsListsAndTheFormOfTrtexec) {
  using Named = std::pair<std::string, Shape>;
  EXPECT_EQ(parse_input_shape("--s", "x:[1,3,224,224]"), Named("x", {1, 3, 224, 224}));
  EXPECT_EQ(parse_input_shape("--s", "x:1x3"), Named("x", {1, 3}));
  EXPECT_EQ(parse_input_shape("--s", "x:[]"), Named("x", Shape{}));
  EXPECT_EQ(parse_input_shape("--s", "x:[0,2]"), Named("x", {0, 2}));
  for (const char* text :
       {"", "x", "x:", "[1]", ":[1]", "x:[-2]", "x:[-1]", "x:[1,]", "x:[1.5]", "x:[N]", "x:1x", "x:[2147483648]"}) {
    EXPECT_NE(usage_error([&] { parse_input_shape("--s", text); }), "") << text;
  }
}

TEST(ParseOpenShape, KeepsNamesOfSizes) {
  const auto [name, shape] = parse_open_shape("--s", "x:[batch,2,-1,'h',\"w\"]");
  EXPECT_EQ(name, "x");
  EXPECT_EQ(shape.sizes, Shape({-1, 2, -1, -1, -1}));
  EXPECT_EQ(shape.names, std::vector<std::string>({"batch", "", "", "h", "w"}));
}

TEST(ParseChannels, TakesOneValueOrThreeApartOrJoined) {
  EXPECT_EQ(parse_channels("--m", {}), std::vector<float>());
  EXPECT_EQ(parse_channels("--m", {"0.5"}), std::vector<float>({0.5F}));
  EXPECT_EQ(parse_channels("--m", {"1,2,3"}), std::vector<float>({1, 2, 3}));
  EXPECT_EQ(parse_channels("--m", {"1", "2", "3"}), std::vector<float>({1, 2, 3}));
  EXPECT_NE(usage_error([] { parse_channels("--m", {"1,2"}); }), "");
  EXPECT_NE(usage_error([] { parse_channels("--m", {"1,,2"}); }), "");
}

}  // namespace
}  // namespace vernier::cli
