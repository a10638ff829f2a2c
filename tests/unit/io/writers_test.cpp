#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "temp_files.h"
#include "vernier/error.h"
#include "vernier/runs.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string golden(const std::string& name) { return text_of(fs::path(VERNIER_GOLDEN_DIR) / "saved" / name); }

Tensor pair_of(float a, float b) { return Tensor::of({1, 2}, std::vector<float>{a, b}); }

// What tests/golden/saved/results.json was written from, by Polygraphy 0.53.6.
const std::vector<std::string> kRuns{"first ä", "b"};
Iteration first_iteration() {
  return {{{"y", pair_of(1.5, -2)}, {"n\n😀", Tensor::of_int64({}, std::vector<std::int64_t>{7})}},
          0.008432149887084961};
}

TEST(RunWriter, WritesThePeersBytes) {
  const TempFolder folder;
  // Whatever the order in which runs are added.
  for (const bool second_first : {false, true}) {
    RunWriter writer(folder / "r.json", kRuns);
    if (second_first) writer.add(1, {});
    writer.add(0, first_iteration());
    if (!second_first) writer.add(1, {});
    writer.finish();
    EXPECT_EQ(text_of(folder / "r.json"), golden("results.json"));
  }
}

TEST(RunWriter, ReadsBackSeveralIterationsOfSeveralRuns) {
  const TempFolder folder;
  for (const char* name : {"r.json", "r.pkl", "folder"}) {
    RunWriter writer(folder / name, {"a", "b", "c"});
    for (std::size_t run : {2U, 0U, 1U}) {
      for (int i = 0; i < 3; ++i)
        writer.add(run, {{{"y", pair_of(static_cast<float>(run), static_cast<float>(i))}}, i * 0.5});
    }
    EXPECT_FALSE(fs::exists(folder / name)) << "before it is complete";
    writer.finish();
    const auto runs = open_runs(folder / name);
    ASSERT_EQ(runs.size(), 3U) << name;
    EXPECT_EQ(runs[1]->name(), "b");
    ASSERT_EQ(runs[1]->size(), 3U);
    const Iteration read = runs[1]->at(2);
    EXPECT_EQ(read.seconds, 1.0);
    EXPECT_EQ(read.outputs.at(0).tensor.floats()[0], 1.0F);
    EXPECT_EQ(read.outputs.at(0).tensor.floats()[1], 2.0F);
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 3) << "no temporary files are left";
  EXPECT_TRUE(fs::exists(folder / "folder" / "0000000002.json"));
}

TEST(RunWriter, AFolderOfOneRunHoldsTheBytesOfAFile) {
  const TempFolder folder;
  for (const char* name : {"folder", "r.json"}) {
    RunWriter writer(folder / name, {"a"});
    writer.add(0, first_iteration());
    writer.finish();
  }
  EXPECT_EQ(text_of(folder / "folder" / "0000000000.json"), text_of(folder / "r.json"));
}

TEST(RunWriter, ARunThatEndsEarlyIsMissingInTheLastFiles) {
  const TempFolder folder;
  RunWriter writer(folder / "folder", {"a", "b"});
  writer.add(0, first_iteration());
  writer.add(1, first_iteration());
  writer.add(1, first_iteration());
  writer.finish();
  const auto runs = open_runs(folder / "folder");
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0]->size(), 1U);
  EXPECT_EQ(runs[1]->size(), 2U);
  EXPECT_EQ(runs[1]->at(1).outputs.size(), 2U);
}

TEST(RunWriter, AnEmptyFolderIsFilledAndAFullOneIsLeftAlone) {
  const TempFolder folder;
  fs::create_directory(folder / "there.d");
  RunWriter writer(folder / "there.d", {"a"});
  writer.add(0, first_iteration());
  writer.finish();
  EXPECT_EQ(open_runs(folder / "there.d").size(), 1U);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder / "there.d"), {}), 1);
  const Error error = error_of([&] { RunWriter(folder / "there.d", {"a"}); });
  EXPECT_EQ(error.kind(), ErrorKind::Input);
  EXPECT_NE(std::string(error.what()).find("nothing there is overwritten"), std::string::npos);
}

TEST(RunWriter, AFileWithoutExtensionIsWrittenAnew) {
  const TempFolder folder;
  write_file(folder / "plain", "x");
  RunWriter writer(folder / "plain", {"a"});
  writer.add(0, first_iteration());
  writer.finish();
  EXPECT_TRUE(fs::is_regular_file(folder / "plain"));
  EXPECT_EQ(open_runs(folder / "plain").size(), 1U);
}

TEST(RunWriter, ArchivesHoldOneRun) {
  const TempFolder folder;
  for (const int iterations : {1, 3}) {
    RunWriter writer(folder / "golden.npz", {"any"});
    for (int i = 0; i < iterations; ++i) writer.add(0, {{{"../y", pair_of(1, static_cast<float>(i))}}, 0.5});
    writer.finish();
    const auto runs = open_runs(folder / "golden.npz");
    ASSERT_EQ(runs.size(), 1U);
    EXPECT_EQ(runs[0]->name(), "golden");
    ASSERT_EQ(runs[0]->size(), static_cast<std::size_t>(iterations));
    const Iteration last = runs[0]->at(runs[0]->size() - 1);
    EXPECT_EQ(last.outputs.at(0).name, "../y");
    EXPECT_EQ(last.outputs.at(0).tensor.floats()[1], static_cast<float>(iterations - 1));
    EXPECT_FALSE(last.seconds);
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1);
  EXPECT_EQ(error_of([&] { RunWriter(folder / "two.npz", {"a", "b"}); }).kind(), ErrorKind::Usage);
}

TEST(RunWriter, RefusesTypesThatNumPyDoesNotHaveAndLeavesNothing) {
  const TempFolder folder;
  for (const char* name : {"r.json", "folder", "r.npz"}) {
    RunWriter writer(folder / name, {"a"});
    const Error error = error_of([&] { writer.add(0, {{{"y", Tensor(Dtype::BFloat16, {2})}}, {}}); });
    EXPECT_EQ(error.kind(), ErrorKind::Input);
    EXPECT_NE(std::string(error.what()).find("output 'y' is bfloat16"), std::string::npos);
  }
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(RunWriter, SaysWhyAPlaceCannotBeWritten) {
  const TempFolder folder;
  std::ofstream(folder / "none") << "a file";
  for (const char* name : {"none/r.json", "none/r.npz", "none/folder"}) {
    EXPECT_EQ(error_of([&] { RunWriter(folder / name, {"a"}); }).kind(), ErrorKind::Input) << name;
  }
}

TEST(RunWriter, MakesFoldersThatAreMissing) {
  const TempFolder folder;
  for (const char* name : {"a/b/r.json", "c/d/r.npz", "e/f/folder"}) {
    RunWriter writer(folder / name, {"a"});
    writer.add(0, {{{"y", Tensor(Dtype::Float32, {2})}}, {}});
    writer.finish();
    EXPECT_TRUE(fs::exists(folder / name)) << name;
  }
}

TEST(InputWriter, WritesThePeersBytes) {
  const TempFolder folder;
  InputWriter writer(folder / "i.json");
  writer.add({{"x", pair_of(1.5, -2)}});
  writer.add({});
  writer.finish();
  EXPECT_EQ(text_of(folder / "i.json"), golden("inputs.json"));
}

TEST(InputWriter, EveryFormIsASourceOfSamples) {
  const TempFolder folder;
  for (const char* name : {"i.json", "folder", "i.npz"}) {
    InputWriter writer(folder / name);
    for (float i = 0; i < 3; ++i) writer.add({{"x", pair_of(i, 7)}});
    writer.finish();
    const auto source = open_samples(from(folder / name), {float_input("x", {1, 2})});
    ASSERT_EQ(source->size(), 3U) << name;
    EXPECT_EQ(source->at(2).at("x").floats()[0], 2.0F);
  }
}

TEST(Writers, EveryTypeComesBack) {
  const TempFolder folder;
  for (const char* name : {"r.json", "r.npz"}) {
    Iteration all;
    for (int dtype = 1; dtype <= 13; ++dtype) {
      if (dtype == static_cast<int>(Dtype::String)) continue;
      // 5 elements: sizes that leave each remainder when divided by three.
      Tensor tensor(static_cast<Dtype>(dtype), {5, 1});
      for (std::size_t i = 0; i < tensor.byte_size(); ++i) tensor.mutable_bytes()[i] = static_cast<std::byte>(i % 2);
      all.outputs.push_back({fmt::format("t{}", dtype), tensor});
    }
    all.outputs.push_back({"empty", Tensor(Dtype::Float32, {0, 3})});
    RunWriter writer(folder / name, {"a"});
    writer.add(0, all);
    writer.finish();
    const Iteration read = open_runs(folder / name)[0]->at(0);
    ASSERT_EQ(read.outputs.size(), all.outputs.size());
    for (std::size_t i = 0; i < all.outputs.size(); ++i) {
      const Tensor& wanted = all.outputs[i].tensor;
      const Tensor& got = read.outputs[i].tensor;
      EXPECT_EQ(read.outputs[i].name, all.outputs[i].name);
      EXPECT_EQ(got.dtype(), wanted.dtype());
      EXPECT_EQ(got.shape(), wanted.shape());
      EXPECT_TRUE(std::equal(got.bytes().begin(), got.bytes().end(), wanted.bytes().begin(), wanted.bytes().end()));
    }
  }
}

TEST(Writers, ArraysLargerThanAPieceComeBack) {
  const TempFolder folder;
  const std::vector<float> values = counting(700001);
  RunWriter writer(folder / "r.json", {"a", "b"});
  for (std::size_t run : {0U, 1U}) writer.add(run, {{{"y", Tensor::of({700001}, values)}}, {}});
  writer.finish();
  const auto runs = open_runs(folder / "r.json");
  for (const auto& run : runs) {
    const Iteration read = run->at(0);
    const auto floats = read.outputs.at(0).tensor.floats();
    EXPECT_TRUE(std::equal(floats.begin(), floats.end(), values.begin(), values.end()));
  }
}

}  // namespace
}  // namespace vernier
