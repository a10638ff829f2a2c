// Several locations as one source.
#include <gtest/gtest.h>

#include <cstddef>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "temp_files.h"
#include "vernier/error.h"
#include "vernier/samples.h"

namespace vernier {
namespace {

const std::vector<InputInfo> kInput{float_input("x", {1, 2})};

/// Three samples in a .npy and two in a .npz: 0 1, 2 3, 4 5, then 10 11, 12 13.
SourceOptions chain(const TempFolder& folder) {
  write_file(folder / "a.npy", npy_of({3, 1, 2}, counting(6)));
  write_zip(folder / "b.npz", {{"x.npy", npy_of({2, 1, 2}, {10, 11, 12, 13})}}, true);
  SourceOptions options = from(folder / "a.npy");
  options.further = {(folder / "b.npz").string()};
  return options;
}

TEST(Chained, SamplesFollowInOrderWhateverTheirForm) {
  const TempFolder folder;
  const auto source = open_samples(chain(folder), kInput);
  ASSERT_EQ(source->size(), 5U);
  const std::vector<float> first{0, 2, 4, 10, 12};
  for (const std::size_t i : {0U, 4U, 2U, 3U, 1U}) EXPECT_EQ(source->at(i).at("x").floats()[0], first[i]);
  EXPECT_EQ(error_of([&] { source->at(5); }).kind(), ErrorKind::Internal);
  const std::string text = source->description();
  EXPECT_NE(text.find("a.npy, "), std::string::npos);
  EXPECT_NE(text.find("b.npz, 5 samples"), std::string::npos) << text;
}

TEST(Chained, TheLimitIsOfTheWhole) {
  const TempFolder folder;
  SourceOptions options = chain(folder);
  options.limit = 4;
  const auto source = open_samples(options, kInput);
  ASSERT_EQ(source->size(), 4U);
  EXPECT_EQ(source->at(3).at("x").floats()[0], 10.0F);
  options.limit = 2;
  options.further.push_back("not opened");
  EXPECT_EQ(open_samples(options, kInput)->size(), 2U);
}

TEST(Chained, AFileMayComeTwice) {
  const TempFolder folder;
  SourceOptions options = chain(folder);
  options.further.push_back(options.location);
  EXPECT_EQ(open_samples(options, kInput)->size(), 8U);
}

TEST(Chained, ErrorsNameTheFileAndItsOwnSample) {
  const TempFolder folder;
  SourceOptions options = chain(folder);
  options.further.push_back((folder / "none.npz").string());
  EXPECT_NE(std::string(error_of([&] { open_samples(options, kInput); }).what()).find("none.npz: no such file"),
            std::string::npos);
  write_zip(folder / "b.npz", {{"x.npy", npy_of({2, 1, 2}, {10, 11, std::numeric_limits<float>::infinity(), 13})}},
            false);
  options.further.pop_back();
  const auto source = open_samples(options, kInput);
  EXPECT_NE(std::string(error_of([&] { source->at(4); }).what()).find("b.npz: infinity in the inputs: sample 1"),
            std::string::npos);
}

TEST(Chained, ThreadsReadAllParts) {
  const TempFolder folder;
  const auto source = open_samples(chain(folder), kInput);
  std::vector<int> wrong(4, 0);
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < wrong.size(); ++t) {
      threads.emplace_back([&, t] {
        const std::vector<float> first{0, 2, 4, 10, 12};
        for (std::size_t i = 0; i < 500; ++i) {
          const std::size_t at = (i * (t + 1)) % 5;
          if (source->at(at).at("x").floats()[0] != first[at]) ++wrong[t];
        }
      });
    }
  }
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

}  // namespace
}  // namespace vernier
