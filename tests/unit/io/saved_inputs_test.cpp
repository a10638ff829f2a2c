#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <string>

#include "temp_files.h"
#include "vernier/error.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

std::string array_json(const std::string& npy) {
  return fmt::format(R"({{"array": "{}", "polygraphy_class": "ndarray"}})", base64_of(npy));
}

std::string message_of(const std::string& json) {
  const TempFolder folder;
  write_file(folder / "a.json", json);
  const Error error = error_of([&] { open_samples(from(folder / "a.json"), {float_input("x", {1, 2})}); });
  EXPECT_EQ(error.kind(), ErrorKind::Input);
  return error.what();
}

TEST(SavedInputs, ReadsAListOfSamplesWithSeveralInputs) {
  const TempFolder folder;
  const std::string first = array_json(npy_of({1, 2}, {1, 2}));
  const std::string ids = array_json(npy_of_int64({}, {9}));
  write_file(folder / "a.json",
             fmt::format("[\n {{\"x\": {0}, \"ids\": {1}}},\n {{\"ids\": {1}, \"x\": {0}}} ]", first, ids));
  const auto source = open_samples(from(folder / "a.json"), {float_input("x", {1, 2}), {"ids", Dtype::Int64, {}, 0}});
  ASSERT_EQ(source->size(), 2U);
  EXPECT_EQ(source->at(1).at("x").floats()[1], 2.0F);
  EXPECT_EQ(source->at(0).at("ids").int64s()[0], 9);
}

TEST(SavedInputs, ReadsABareSampleAndLazyAndLegacyArrays) {
  const TempFolder folder;
  const std::string array = array_json(npy_of({1, 2}, {3, 4}));
  std::string escaped = base64_of(npy_of({1, 2}, {-1, -1}));  // bytes BF, so slashes
  for (std::size_t at = 0; (at = escaped.find('/', at)) != std::string::npos; at += 2) escaped.insert(at, "\\");
  ASSERT_NE(escaped.find("\\/"), std::string::npos);
  const std::map<std::string, float> cases{
      {fmt::format(R"({{"x": {}}})", array), 3.0F},
      {fmt::format(R"({{"x": {{"values": {}, "polygraphy_class": "LazyArray"}}}})", array), 3.0F},
      {fmt::format(R"([{{"x": {{"array": "{}", "polygraphy_class": "ndarray"}}}}])", escaped), -1.0F},
      {fmt::format(R"({{"x": {{"__polygraphy_encoded_ndarray": true, "array": "{}"}}}})",
                   base64_of(npy_of({1, 2}, {3, 4}))),
       3.0F}};
  for (const auto& [json, value] : cases) {
    write_file(folder / "a.json", json);
    EXPECT_EQ(open_samples(from(folder / "a.json"), {float_input("x", {1, 2})})->at(0).at("x").floats()[0], value)
        << json;
  }
}

TEST(SavedInputs, AFolderIsReadInTheOrderOfNames) {
  const TempFolder folder;
  write_file(folder / "0000000001.json", fmt::format(R"({{"x": {}}})", array_json(npy_of({1, 2}, {3, 4}))));
  write_file(folder / "0000000000.json", fmt::format(R"({{"x": {}}})", array_json(npy_of({1, 2}, {1, 2}))));
  const auto source = open_samples(from(folder.path()), {float_input("x", {1, 2})});
  ASSERT_EQ(source->size(), 2U);
  EXPECT_EQ(source->at(0).at("x").floats()[0], 1.0F);
}

TEST(SavedInputs, DeepNestingIsRefusedAtOnce) {
  const std::string open(1000000, '[');
  EXPECT_NE(message_of(open).find("not valid JSON, at byte 1000000 of 1000000: it ends in the middle"),
            std::string::npos);
  EXPECT_NE(message_of(open + std::string(1000000, ']')).find("a list where a sample belongs"), std::string::npos);
  std::string objects;
  std::string closing;
  for (int i = 0; i < 100000; ++i) {
    objects += R"({"x":)";
    closing += '}';
  }
  EXPECT_NE(message_of(objects).find("not valid JSON"), std::string::npos);
  EXPECT_NE(message_of(objects + "0" + closing).find("nested deeper"), std::string::npos);
}

TEST(SavedInputs, TellsResultsFromInputs) {
  for (const char* json :
       {R"({"lst": [["r", []]], "polygraphy_class": "RunResults"})", R"({"polygraphy_class": "RunResults", "lst": []})",
        R"({"__polygraphy_encoded_RunResults": "polygraphy_serialized_json_type", "lst": []})"}) {
    EXPECT_NE(message_of(json).find("holds saved results ('RunResults'), not inputs"), std::string::npos) << json;
  }
  EXPECT_NE(message_of(R"({"lst": [], "polygraphy_class": "AccuracyResults"})").find("'AccuracyResults', not inputs"),
            std::string::npos);
}

TEST(SavedInputs, RefusesWhatIsNoArray) {
  EXPECT_NE(message_of(R"([{"x": 1}])").find("input 'x': a number"), std::string::npos);
  EXPECT_NE(message_of(R"([{"x": {"tensor": "AA==", "polygraphy_class": "Tensor"}}])").find("'x'"), std::string::npos);
  EXPECT_NE(message_of(R"([{"x": {"array": "A", "polygraphy_class": "ndarray"}}])").find("is not Base64"),
            std::string::npos);
  EXPECT_NE(message_of(R"([{"x": {"array": "AAAA", "polygraphy_class": "ndarray"}}])").find("not a .npy"),
            std::string::npos);
  EXPECT_NE(message_of("[{").find("not valid JSON"), std::string::npos);
  EXPECT_NE(message_of("[]").find("holds no samples"), std::string::npos);
  EXPECT_NE(message_of("[{}]").find("no array for input 'x'"), std::string::npos);
}

}  // namespace
}  // namespace vernier
