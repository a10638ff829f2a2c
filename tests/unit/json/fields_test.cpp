#include "json/fields.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/error.h"

namespace vernier {
namespace json_test {

enum class Colour { Red, Green, Blue };
std::span<const std::string_view> words_of(Colour) {
  static constexpr std::array<std::string_view, 3> kWords{"red", "green", "blue"};
  return kWords;
}

struct Base {
  double size = 0;
};

struct Thing : Base {
  std::string name;
  Colour colour = Colour::Red;
  std::optional<std::uint8_t> count;
  std::vector<float> values;
  std::map<std::string, bool> flags;
};

struct Foreign {
  std::optional<double> value;
};

struct Remark {
  std::string name;  // a user's
  std::string why;
  std::vector<std::string> notes;
  std::optional<std::string> hint;
};

}  // namespace json_test

template <>
struct Fields<json_test::Thing> {
  using R = json_test::Thing;
  static constexpr bool (*flagged)(const R&) = [](const R& thing) { return !thing.flags.empty(); };
  static constexpr auto list = std::tuple{Field{"name", &R::name, nullptr, "title"},
                                          Field{"size", &json_test::Base::size},
                                          Field{"colour", &R::colour},
                                          Field{"count", &R::count},
                                          Field{"values", &R::values},
                                          Field{"flags", &R::flags, flagged}};
};

template <>
struct Fields<json_test::Foreign> {
  static constexpr bool open = true;
  static constexpr auto list = std::tuple{Nullable{"value", &json_test::Foreign::value}};
};

template <>
struct Fields<json_test::Remark> {
  using R = json_test::Remark;
  static constexpr bool (*explained)(const R&) = [](const R& remark) { return !remark.why.empty(); };
  static constexpr auto list = std::tuple{Field{"name", &R::name}, Prose{"why", &R::why, explained},
                                          Prose{"notes", &R::notes}, Prose{"hint", &R::hint}};
};

namespace {

using json_test::Colour;
using json_test::Foreign;
using json_test::Remark;
using json_test::Thing;

constexpr const char* kWhole = R"({"name":"a","size":1.5,"colour":"green","values":[0.1,2]})";

Error refusal(const std::string& text) {
  try {
    parse_as<Thing>(text, "t.json");
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "was read: " << text;
  return Error(ErrorKind::Internal, "");
}

std::string with(const std::string& from, const std::string& to) {
  std::string text = kWhole;
  return text.replace(text.find(from), from.size(), to);
}

TEST(Fields, StructsComeBackAsTheyWere) {
  Thing thing;
  thing.name = "x";
  thing.size = std::numeric_limits<double>::infinity();
  thing.colour = Colour::Blue;
  thing.count = 7;
  thing.values = {0.1F, -0.0F, 1e-40F, 3};
  thing.flags = {{"b", true}, {"a", false}};
  const std::string text = json_text(json_of(thing));
  EXPECT_EQ(text, R"({"name":"x","size":"inf","colour":"blue","count":7,"values":[0.1,-0.0,1e-40,3],)"
                  R"("flags":{"a":false,"b":true}})");
  const Thing again = parse_as<Thing>(text, "t.json");
  EXPECT_EQ(json_text(json_of(again)), text);
  EXPECT_EQ(again.values, thing.values);
  EXPECT_TRUE(std::signbit(again.values[1]));
}

TEST(Fields, WhatIsNotThereIsAbsentAndNullIsReadAsAbsent) {
  EXPECT_EQ(json_text(json_of(parse_as<Thing>(kWhole, "t.json"))), kWhole);
  EXPECT_EQ(parse_as<Thing>(with("\"values\"", "\"count\":null,\"values\""), "t.json").count, std::nullopt);
  EXPECT_EQ(json_text(json_of(Foreign{})), R"({"value":null})") << "files of others may want null";
  EXPECT_EQ(parse_as<Foreign>(R"({"value":null,"more":1})", "f").value, std::nullopt);
}

TEST(Fields, ProseIsWrittenInWordsOfTheCommandAndNamesAreAsTheyAre) {
  const Remark remark{"‹int8›", "‹int8› has no ranges", {"‹data› FILE", "plain"}, "‹vernier check data›"};
  const std::string text = json_text(json_of(remark));
  EXPECT_EQ(text, R"({"name":"‹int8›","why":"--int8 has no ranges","notes":["--data FILE","plain"],)"
                  R"("hint":"vernier check data"})");
  EXPECT_EQ(json_text(json_of(parse_as<Remark>(text, "t.json"))), text);
  EXPECT_EQ(json_text(json_of(Remark{})), R"({"name":"","notes":[]})");
}

TEST(Fields, FormerKeysAreRead) { EXPECT_EQ(parse_as<Thing>(with("name", "title"), "t.json").name, "a"); }

TEST(Fields, ReadersNameThePlace) {
  EXPECT_STREQ(refusal(with("2", "\"b\"")).what(),
               "t.json: values[1] is a string, a number, \"inf\", \"-inf\" or \"nan\" is wanted");
  EXPECT_STREQ(refusal(with("\"name\":\"a\",", "")).what(), "t.json: name is missing");
  EXPECT_STREQ(refusal(with("\"a\"", "null")).what(), "t.json: name is null");
  EXPECT_STREQ(refusal(with("\"values\"", "\"flags\":{\"b c\":1},\"values\"")).what(),
               "t.json: flags.b c is a number, true or false is wanted");
  EXPECT_STREQ(refusal(with("\"values\"", "\"count\":256,\"values\"")).what(),
               "t.json: count is 256, which is out of range");
  EXPECT_STREQ(refusal("[]").what(), "t.json: is an array, an object is wanted");
}

TEST(Fields, UnknownWordsAndKeysAreRefusedWithTheNearest) {
  const Error word = refusal(with("green", "gren"));
  EXPECT_STREQ(word.what(), "t.json: colour is 'gren', one of red, green, blue is wanted");
  EXPECT_EQ(word.hint(), "nearest: green, red");
  const Error key = refusal(with("colour", "color"));
  EXPECT_STREQ(key.what(), "t.json: color is unknown");
  EXPECT_EQ(key.hint(), "nearest: colour");
}

}  // namespace
}  // namespace vernier
