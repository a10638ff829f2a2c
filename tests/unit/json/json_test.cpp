#include "json/json.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "json/json_fault.h"
#include "vernier/error.h"

namespace vernier {
namespace {

std::string message_of(const std::string& text) {
  try {
    parse_json(text, "f.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Input);
    return error.what();
  }
  ADD_FAILURE() << "was read: " << text;
  return {};
}

TEST(Json, TextComesBackInItsOrder) {
  const std::string text = R"({"z":[1,-2,3.5,true,null,"x"],"a":{},"m":{"k":[]}})";
  EXPECT_EQ(json_text(parse_json(text, "f.json")), text);
}

TEST(Json, NumbersKeepTheirKindAndEveryDigit) {
  const std::string text = "[9223372036854775807,18446744073709551615,-9223372036854775808,0.1,1.0,1e+300,-0.0]";
  EXPECT_EQ(json_text(parse_json(text, "f.json")), text);
  const Json largest = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(largest.integer<std::uint64_t>(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(largest.integer_within<std::int64_t>(), std::nullopt);
  EXPECT_EQ(Json(300).integer_within<std::uint8_t>(), std::nullopt);
  EXPECT_EQ(Json(1), Json(1.0));
  EXPECT_NE(Json(-1), largest);
}

TEST(Json, NumbersThatAreNotFiniteAreTexts) {
  const double infinite = std::numeric_limits<double>::infinity();
  EXPECT_EQ(json_text(Json::Array{infinite, -infinite, infinite - infinite}), R"(["inf","-inf","nan"])");
}

TEST(Json, LayoutsBreakLinesWhereTheyAreAskedTo) {
  const Json value = Json::Object{{"a", Json::Array{Json::Object{{"b", 1}, {"c", 2}}}}, {"d", Json::array()}};
  EXPECT_EQ(json_text(value), R"({"a":[{"b":1,"c":2}],"d":[]})");
  EXPECT_EQ(json_text(value, kOneLineJson), R"({"a": [{"b": 1, "c": 2}], "d": []})");
  EXPECT_EQ(json_text(value, {.indent = 2, .levels = 2}),
            "{\n  \"a\": [\n    {\"b\": 1, \"c\": 2}\n  ],\n  \"d\": []\n}");
}

TEST(Json, BytesThatAreNoUtf8AreReplaced) { EXPECT_EQ(json_quoted("a\xFF"), "\"a\xEF\xBF\xBD\""); }

TEST(Json, LastOfRepeatedKeysStandsInThePlaceOfTheFirst) {
  EXPECT_EQ(json_text(parse_json(R"({"a":1,"b":2,"a":3})", "f.json")), R"({"a":3,"b":2})");
}

TEST(Json, ObjectsAreEqualInAnyOrderAndArraysAreNot) {
  EXPECT_EQ(parse_json(R"({"a":1,"b":[]})", "f"), parse_json(R"({"b":[],"a":1.0})", "f"));
  EXPECT_NE(parse_json("[1,2]", "f"), parse_json("[2,1]", "f"));
  EXPECT_NE(parse_json(R"({"a":1})", "f"), parse_json(R"({"a":1,"b":2})", "f"));
}

TEST(Json, WhatIsNoJsonIsRefusedWithItsPlace) {
  EXPECT_EQ(message_of("[1,\n 2").find("f.json: is not JSON: line 2, column 3"), 0U);
  EXPECT_EQ(message_of("").find("f.json: is not JSON: "), 0U);
  EXPECT_EQ(message_of("[1e999]").find("f.json: is not JSON: "), 0U);
  EXPECT_EQ(message_of("{} x").find("f.json: is not JSON: "), 0U);
  EXPECT_EQ(try_parse_json("{"), std::nullopt);
}

TEST(Json, NestingHasAnEnd) {
  const auto nested = [](std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); };
  EXPECT_EQ(json_text(parse_json(nested(500), "f.json")), nested(500));
  EXPECT_EQ(message_of(nested(501)), "f.json: is not JSON: it is nested deeper than 500 levels");
  EXPECT_EQ(message_of(std::string(1'000'000, '[')), "f.json: is not JSON: it is nested deeper than 500 levels");
}

TEST(Json, ValuesOfAnotherKindAreAnError) {
  EXPECT_THROW(static_cast<void>(Json("x").number()), JsonError);
  EXPECT_THROW(static_cast<void>(Json(1.5).integer<int>()), JsonError);
  EXPECT_THROW(static_cast<void>(Json::object().at("a")), JsonError);
  EXPECT_THROW(static_cast<void>(Json::array().at(0)), JsonError);
  EXPECT_EQ(Json(3).find("a"), nullptr);
}

TEST(Json, CopiesAreDeep) {
  Json one = Json::Object{{"a", Json::Array{1}}};
  const Json other = one;
  one.at("a").add(2);
  one["b"] = other;
  EXPECT_EQ(json_text(other), R"({"a":[1]})");
  EXPECT_EQ(json_text(one), R"({"a":[1,2],"b":{"a":[1]}})");
  one = Json(one.at("b"));
  EXPECT_EQ(json_text(one), json_text(other));
}

TEST(JsonKeys, AreRefusedWhereTheyComeTwiceIfAsked) {
  const char* const text = R"({"a": {"b": 1, "c": 2, "b": 3}})";
  EXPECT_EQ(parse_json(text, "f").at("a").at("b"), Json(3));
  try {
    parse_json(text, "f", /*unique_keys=*/true);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "f: the key 'b' comes twice in one object");
  }
  EXPECT_EQ(parse_json(R"([{"b": 1}, {"b": 2}])", "f", /*unique_keys=*/true).items().size(), 2U);
}

}  // namespace
}  // namespace vernier
