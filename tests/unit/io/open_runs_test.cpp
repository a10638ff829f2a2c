#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "temp_files.h"
#include "vernier/error.h"
#include "vernier/runs.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

std::string bare(const std::vector<float>& values) {
  return fmt::format(R"({{"array": "{}", "polygraphy_class": "ndarray"}})",
                     base64_of(npy_of({1, static_cast<std::int64_t>(values.size())}, values)));
}

std::string lazy(const std::string& array, const std::string& name = "LazyArray") {
  return fmt::format(R"({{"values": {}, "polygraphy_class": "{}"}})", array, name);
}

std::string iteration(const std::string& outputs, const std::string& runtime = "0.5") {
  return fmt::format(
      R"({{"outputs": {{{}}}, "runtime": {}, "runner_name": "r", "polygraphy_class": "IterationResult"}})", outputs,
      runtime);
}

std::string results(const std::string& iterations) {
  return fmt::format(R"({{"lst": [["r", [{}]]], "polygraphy_class": "RunResults"}})", iterations);
}

std::string results_with(const std::string& output) { return results(iteration(fmt::format(R"("y": {})", output))); }

class OpenRuns : public testing::Test {
 protected:
  std::filesystem::path written(const std::string& json) {
    write_file(folder_ / "r.json", json);
    return folder_ / "r.json";
  }
  Iteration first(const std::string& json) { return open_runs(written(json)).at(0)->at(0); }
  std::string message(const std::string& json) {
    const Error error = error_of([&] { first(json); });
    EXPECT_EQ(error.kind(), ErrorKind::Input);
    return std::string(error.what()) + " | " + error.hint();
  }
  TempFolder folder_;
};

#define EXPECT_SAYS(json, part) EXPECT_NE(message(json).find(part), std::string::npos) << message(json)

TEST_F(OpenRuns, ReadsEveryFormOfAnArray) {
  const std::string legacy =
      fmt::format(R"({{"__polygraphy_encoded_ndarray": "polygraphy_serialized_json_type", "array": "{}"}})",
                  base64_of(npy_of({1, 2}, {3, 4})));
  // The oldest form: a character a byte.
  std::string latin = R"({"array": ")";
  for (const char c : npy_of({1, 2}, {3, 4})) latin += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
  latin += R"("})";
  for (const std::string& array :
       {bare({3, 4}), lazy(bare({3, 4})), lazy(bare({3, 4}), "LazyNumpyArray"), legacy, lazy(legacy), latin,
        std::string(R"({"polygraphy_class": "LazyArray", "values": )") + bare({3, 4}) + "}"}) {
    const Iteration read = first(results_with(array));
    ASSERT_EQ(read.outputs.size(), 1U);
    EXPECT_EQ(read.outputs[0].name, "y");
    EXPECT_EQ(read.outputs[0].tensor.floats()[1], 4.0F);
    EXPECT_EQ(read.seconds, 0.5);
  }
}

TEST_F(OpenRuns, KeysComeInAnyOrderAndUnknownOnesAreSkipped) {
  const auto runs = open_runs(written(
      R"({"new": {"a": [1, {"b": "c"}, NaN, -Infinity, true]}, "polygraphy_class": "RunResults",
          "lst": [["r", [{"polygraphy_class": "IterationResult", "runner_name": "r", "future": [1.5e3, null],
                          "runtime": null, "outputs": {"y": )" +
      bare({1}) + R"(}}]]]})"));
  EXPECT_EQ(runs.at(0)->name(), "r");
  EXPECT_FALSE(runs.at(0)->at(0).seconds);
}

TEST_F(OpenRuns, RunTimesMayBeWhatPythonWrites) {
  const std::string y = R"("y": )" + bare({1});
  EXPECT_TRUE(std::isnan(first(results(iteration(y, "NaN"))).seconds.value()));
  EXPECT_EQ(first(results(iteration(y, "-Infinity"))).seconds, -INFINITY);
  EXPECT_EQ(first(results(iteration(y, "1e-05"))).seconds, 1e-5);
  EXPECT_EQ(first(results(iteration(y, "3"))).seconds, 3.0);
}

TEST_F(OpenRuns, NamesMayHoldAnything) {
  const Iteration read = first(results(iteration(R"("../\u0000\"\ud83d\ude00": )" + bare({1}))));
  EXPECT_EQ(read.outputs[0].name, std::string("../\0\"😀", 9));
}

TEST_F(OpenRuns, SaysAtWhichByteJsonEnds) {
  const std::string whole = results_with(lazy(bare({1})));
  for (std::size_t size = 1; size < whole.size(); ++size)
    EXPECT_SAYS(whole.substr(0, size), "is not valid JSON, at byte ");
  const std::string cut = whole.substr(0, 100);
  EXPECT_SAYS(cut, fmt::format("at byte {0} of {0}: it ends in the middle | the file is cut short", cut.size()));
}

TEST_F(OpenRuns, SaysAtWhichByteJsonIsBroken) {
  EXPECT_SAYS(R"({"lst": [}, "polygraphy_class": "RunResults"})", "at byte 9 of 45");
  EXPECT_SAYS(R"({"lst": [[]], "polygraphy_class": "RunResults"} x)", "not valid JSON, at byte 48");
  EXPECT_SAYS(R"({"lst": [[]]; "polygraphy_class": "RunResults"})", "not valid JSON, at byte 12");
  EXPECT_SAYS(R"({"a": nul, "lst": [], "polygraphy_class": "RunResults"})", "not valid JSON");
  EXPECT_SAYS(R"({"a": 01, "lst": [], "polygraphy_class": "RunResults"})", "not valid JSON");
  EXPECT_SAYS(R"({"a": [1}, "lst": [], "polygraphy_class": "RunResults"})", "not valid JSON");
  EXPECT_SAYS(R"({"a": NaN, "b": [1}, "lst": [], "polygraphy_class": "RunResults"})", "not valid JSON, at byte 1");
  EXPECT_SAYS("{\"a\": \"\xFF\", \"lst\": [], \"polygraphy_class\": \"RunResults\"}", "not valid JSON, at byte 7");
  EXPECT_SAYS("{\"a\": \"\n\", \"lst\": [], \"polygraphy_class\": \"RunResults\"}", "not valid JSON, at byte 7");
  EXPECT_SAYS("hello", "not valid JSON, at byte 0");
  EXPECT_SAYS("17", "holds a single value");
}

TEST_F(OpenRuns, NamesThePlaceOfWhatIsNoArray) {
  EXPECT_SAYS(results_with("1"), "run 'r', iteration 0, output 'y': a number where an array belongs");
  EXPECT_SAYS(results_with("null"), "output 'y': null where an array belongs");
  EXPECT_SAYS(results_with(R"({"array": 5})"), "output 'y': a number where the text of an array belongs");
  EXPECT_SAYS(results_with(R"({"array": "A", "polygraphy_class": "ndarray"})"), "output 'y': is not Base64");
  EXPECT_SAYS(results_with(R"({"array": "", "polygraphy_class": "ndarray"})"), "output 'y': is not Base64");
  EXPECT_SAYS(results_with(R"({"polygraphy_class": "ndarray"})"), "output 'y': holds no array");
  EXPECT_SAYS(results_with(R"({"array": "", "array": ""})"), "output 'y': holds two arrays");
  EXPECT_SAYS(results_with(lazy(lazy(bare({1})))), "nested deeper");
  EXPECT_SAYS(results_with(R"({"tensor": "AAAA", "polygraphy_class": "Tensor"})"), "only PyTorch can read");
  EXPECT_SAYS(results_with(R"({"array": "AAAA", "polygraphy_class": "FormattedArray"})"),
              "a saved 'FormattedArray', not results");
  EXPECT_SAYS(results(R"({"outputs": [], "runtime": null})"), "iteration 0: a list where a set of outputs belongs");
  EXPECT_SAYS(results("{}"), "run 'r', iteration 0: has no outputs");
  EXPECT_SAYS(results(R"({"outputs": {}, "runtime": "soon"})"), "a text where a run time belongs");
  EXPECT_SAYS(R"({"lst": [["r"]], "polygraphy_class": "RunResults"})", "lacks a runner's name or its iterations");
  EXPECT_SAYS(R"({"lst": [["r", [], 1]], "polygraphy_class": "RunResults"})", "holds more than");
  EXPECT_SAYS(R"({"lst": {}, "polygraphy_class": "RunResults"})", "an object where a list of runs belongs");
  EXPECT_SAYS(R"({"polygraphy_class": "RunResults"})", "has no list of runs");
}

TEST_F(OpenRuns, DuplicateKeysAreRefused) {
  const std::string y = R"("y": )" + bare({1});
  EXPECT_SAYS(results(iteration(y + ", " + y)), "output 'y': there are two arrays of this name");
  EXPECT_SAYS(results(R"({"outputs": {}, "outputs": {}})"), "two sets of outputs");
  EXPECT_SAYS(R"({"lst": [], "lst": [], "polygraphy_class": "RunResults"})", "two lists of runs");
}

TEST_F(OpenRuns, TruncatedArraysAreRefused) {
  const std::string npy = npy_of({1, 4}, {1, 2, 3, 4});
  for (const std::size_t size : {1U, 9U, 60U, 70U}) {
    EXPECT_SAYS(results_with(fmt::format(R"({{"array": "{}"}})", base64_of(npy.substr(0, size)))), "output 'y'");
  }
  EXPECT_SAYS(
      results_with(fmt::format(R"({{"array": "{}"}})", base64_of(npy_of("<f4", "(4000000000, 4000000000)", "")))),
      "too large");
}

TEST_F(OpenRuns, HostileNamesCannotMoveTheCursor) {
  EXPECT_SAYS(results(iteration(R"("\u001b[2J": 1)")), "output '\\x1b[2J'");
}

TEST_F(OpenRuns, DeepNestingTakesNoStack) {
  const std::string deep = std::string(200000, '[') + std::string(200000, ']');
  EXPECT_SAYS(R"({"x": )" + deep + R"(, "polygraphy_class": "RunResults", "lst": []})", "nested deeper");
}

TEST_F(OpenRuns, TellsOtherFilesApart) {
  EXPECT_SAYS(fmt::format(R"([{{"x": {}}}])", bare({1})), "holds saved inputs, not results");
  EXPECT_SAYS(fmt::format(R"({{"x": {}}})", bare({1})), "holds saved inputs, not results");
  EXPECT_SAYS(R"({"lst": [], "polygraphy_class": "AccuracyResults"})", "'AccuracyResults'");
  EXPECT_SAYS(std::string("\x80\x04\x95\x00\x00", 5), "is a Python pickle");
  EXPECT_SAYS(std::string("\x80\x04\x95\x00\x00", 5), "save_json(pickle.load");
  EXPECT_SAYS(npy_of({1}, {1}), "is one array");
  EXPECT_SAYS("", "is empty");
  EXPECT_SAYS(results(""), "run 'r' has no iterations");
  EXPECT_SAYS(R"({"lst": [], "polygraphy_class": "RunResults"})", "holds no runs");
  write_zip(folder_ / "t.pt", {{"archive/data.pkl", "x"}}, false);
  EXPECT_NE(std::string(error_of([&] { open_runs(folder_ / "t.pt"); }).what()).find("only PyTorch"), std::string::npos);
  EXPECT_EQ(error_of([&] { open_runs(folder_ / "none.json"); }).kind(), ErrorKind::Input);
}

TEST_F(OpenRuns, AFolderGoesByNames) {
  write_file(folder_ / "d/0000000000.json", results_with(bare({1})));
  write_file(folder_ / "d/0000000001.json", results_with(bare({2})));
  write_file(folder_ / "d/notes.txt", "x");
  const auto runs = open_runs(folder_ / "d");
  ASSERT_EQ(runs.at(0)->size(), 2U);
  EXPECT_EQ(runs[0]->at(1).outputs.at(0).tensor.floats()[0], 2.0F);
  write_file(folder_ / "d/0000000001.json", R"({"lst": [], "polygraphy_class": "RunResults"})");
  EXPECT_NE(std::string(error_of([&] { runs[0]->at(1); }).what()).find("has changed"), std::string::npos);
  write_file(folder_ / "d/0000000001.json", fmt::format(R"({{"x": {}}})", bare({1})));
  EXPECT_NE(std::string(error_of([&] { open_runs(folder_ / "d"); }).what()).find("not of the same kind"),
            std::string::npos);
  std::filesystem::create_directory(folder_ / "empty");
  EXPECT_NE(std::string(error_of([&] { open_runs(folder_ / "empty"); }).what()).find("without .json files"),
            std::string::npos);
}

TEST_F(OpenRuns, ArchivesAreOneRun) {
  write_zip(folder_ / "a.npz", {{"y.npy", npy_of({1, 2}, {1, 2})}, {"z.npy", npy_of({1}, {3})}}, true);
  const auto plain = open_runs(folder_ / "a.npz");
  EXPECT_EQ(plain.at(0)->at(0).outputs.size(), 2U);
  write_zip(folder_ / "b.npz", {{"iteration_10/y.npy", npy_of({1}, {10})}, {"iteration_9/y.npy", npy_of({1}, {9})}},
            false);
  const auto several = open_runs(folder_ / "b.npz");
  ASSERT_EQ(several.at(0)->size(), 2U);
  EXPECT_EQ(several[0]->at(0).outputs.at(0).tensor.floats()[0], 9.0F);
  write_zip(folder_ / "c.npz", {{"sample_0/x.npy", npy_of({1}, {10})}}, false);
  EXPECT_NE(std::string(error_of([&] { open_runs(folder_ / "c.npz"); }).what()).find("saved inputs"),
            std::string::npos);
}

}  // namespace
}  // namespace vernier
