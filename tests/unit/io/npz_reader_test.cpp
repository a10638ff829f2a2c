#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "temp_files.h"
#include "vernier/error.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

const std::vector<InputInfo> kTwo{float_input("x", {1, 2}), {"ids", Dtype::Int64, {}, 0}};

std::map<std::string, std::string> two_inputs() {
  return {{"x.npy", npy_of({3, 1, 2}, counting(6))}, {"ids.npy", npy_of_int64({3}, {7, 8, 9})}};
}

class NpzSource : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(StoredAndDeflated, NpzSource, testing::Values(false, true));

TEST_P(NpzSource, StackedArraysAreReadInAnyOrder) {
  const TempFolder folder;
  write_zip(folder / "a.npz", two_inputs(), GetParam());
  const auto source = open_samples(from(folder / "a.npz"), kTwo);
  ASSERT_EQ(source->size(), 3U);
  for (const std::size_t i : {0U, 2U, 1U, 1U, 2U, 0U}) {
    const Sample sample = source->at(i);
    EXPECT_EQ(sample.at("x").floats()[1], static_cast<float>(2 * i + 1));
    EXPECT_EQ(sample.at("ids").int64s()[0], static_cast<std::int64_t>(7 + i));
  }
}

TEST_P(NpzSource, LargeMembersSurviveSkippingForward) {
  const TempFolder folder;
  write_zip(folder / "a.npz", {{"x.npy", npy_of({100, 1, 1000}, counting(100000))}}, GetParam());
  const auto source = open_samples(from(folder / "a.npz"), {float_input("x", {1, 1000})});
  EXPECT_EQ(source->at(99).at("x").floats()[999], 99999.0F);
  EXPECT_EQ(source->at(3).at("x").floats()[0], 3000.0F);
}

TEST_P(NpzSource, NumberedSamplesMayDifferInShape) {
  const TempFolder folder;
  write_zip(folder / "a.npz",
            {{"sample_10.npy", npy_of({1, 3}, counting(3))}, {"sample_2.npy", npy_of({1, 5}, counting(5))}},
            GetParam());
  const auto source = open_samples(from(folder / "a.npz"), {float_input("x", {1, -1})});
  ASSERT_EQ(source->size(), 2U);
  EXPECT_EQ(source->at(0).at("x").shape(), (Shape{1, 5}));  // 2 before 10
  EXPECT_EQ(source->at(1).at("x").shape(), (Shape{1, 3}));
}

TEST_P(NpzSource, NumberedSamplesNameTheirInputs) {
  const TempFolder folder;
  write_zip(folder / "a.npz", {{"sample_0/x.npy", npy_of({1, 2}, {5, 6})}, {"sample_0/ids.npy", npy_of_int64({}, {3})}},
            GetParam());
  EXPECT_EQ(open_samples(from(folder / "a.npz"), kTwo)->at(0).at("ids").int64s()[0], 3);
}

TEST_P(NpzSource, ThreadsShareOneArchive) {
  const TempFolder folder;
  write_zip(folder / "a.npz", {{"x.npy", npy_of({50, 1, 2}, counting(100))}}, GetParam());
  const auto source = open_samples(from(folder / "a.npz"), {float_input("x", {1, 2})});
  std::vector<std::thread> threads;
  std::vector<int> wrong(3, 0);
  for (std::size_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = 0; i < 50; ++i) {
        const std::size_t at = t == 1 ? 49 - i : i;
        if (source->at(at).at("x").floats()[0] != static_cast<float>(2 * at)) ++wrong[t];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(3, 0));
}

TEST(NpzSourceErrors, DifferentNumbersOfSamples) {
  const TempFolder folder;
  write_zip(folder / "a.npz", {{"x.npy", npy_of({3, 1, 2}, counting(6))}, {"ids.npy", npy_of_int64({}, {7})}}, false);
  const Error error = error_of([&] { open_samples(from(folder / "a.npz"), kTwo); });
  EXPECT_NE(std::string(error.what()).find("'x' holds 3 samples, the one for 'ids' holds 1"), std::string::npos);
}

TEST(NpzSourceErrors, MissingAndUnknownNames) {
  const TempFolder folder;
  write_zip(folder / "a.npz", {{"../../x.npy", npy_of({1, 2}, counting(2))}, {"ids.npy", npy_of_int64({}, {7})}},
            false);
  const Error error = error_of([&] { open_samples(from(folder / "a.npz"), kTwo); });
  EXPECT_NE(std::string(error.what()).find("the network has inputs x, ids, the data has arrays ../../x, ids"),
            std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder.path().parent_path().parent_path() / "x.npy"));
}

TEST(NpzSourceErrors, NoSampleAndNoArchive) {
  const TempFolder folder;
  write_file(folder / "a.npz", std::string("PK\x05\x06", 4) + std::string(18, '\0'));  // an empty archive
  EXPECT_THROW(open_samples(from(folder / "a.npz"), kTwo), Error);
  write_file(folder / "b.npz", "PK\x03\x04 nonsense");
  EXPECT_THROW(open_samples(from(folder / "b.npz"), kTwo), Error);
}

TEST(NpzSourceErrors, OneChangedValueIsFoundWhateverSampleIsReadFirst) {
  const TempFolder folder;
  for (const bool deflated : {false, true}) {
    write_zip(folder / "a.npz", {{"x.npy", npy_of({3, 1, 64}, counting(192))}}, deflated);
    std::stringstream text;
    text << std::ifstream(folder / "a.npz", std::ios::binary).rdbuf();
    const std::string intact = text.str();
    const std::size_t data = deflated ? 80 : intact.find('\n', intact.find("NUMPY")) + 1;
    for (const std::size_t changed : {data, data + 256, data + 600}) {
      if (changed >= intact.find("PK\x01\x02")) continue;
      std::string bytes = intact;
      bytes[changed] = static_cast<char>(bytes[changed] ^ 1);
      write_file(folder / "b.npz", bytes);
      for (const std::size_t first : {0U, 1U, 2U}) {
        EXPECT_THROW(open_samples(from(folder / "b.npz"), {float_input("x", {1, 64})})->at(first), Error)
            << "byte " << changed << ", sample " << first;
      }
    }
  }
}

TEST(NpzSourceErrors, DamagedDataIsFoundByItsChecksum) {
  const TempFolder folder;
  write_zip(folder / "a.npz", {{"x.npy", npy_of({1, 2}, counting(2))}}, false);
  std::stringstream text;
  text << std::ifstream(folder / "a.npz", std::ios::binary).rdbuf();
  std::string bytes = text.str();
  const std::size_t data = bytes.find('\n', bytes.find("NUMPY")) + 1;
  bytes[data] = static_cast<char>(bytes[data] ^ 1);
  write_file(folder / "a.npz", bytes);
  EXPECT_THROW(open_samples(from(folder / "a.npz"), {float_input("x", {1, 2})}), Error);
}

TEST(NpzSourceErrors, ABombIsRefusedByItsHeaderBeforeItIsUnpacked) {
  const TempFolder folder;
  // 64 MiB of zeros in 64 KiB: the input wants 8 bytes.
  write_zip(folder / "a.npz", {{"sample_0.npy", npy_of("<f4", "(1, 16777216)", std::string(64 << 20, '\0'))}}, true);
  ASSERT_LT(std::filesystem::file_size(folder / "a.npz"), std::size_t{1} << 20);
  const Error error = error_of([&] { open_samples(from(folder / "a.npz"), {float_input("x", {1, 2})}); });
  EXPECT_NE(std::string(error.what()).find("wants shape 1x2, the array has shape 1x16777216"), std::string::npos);
}

TEST(NpzSourceErrors, ASizeThatThePackedBytesCannotHoldIsRefused) {
  const TempFolder folder;
  write_zip(folder / "a.npz", {{"x.npy", npy_of({1, 100000}, counting(100000))}}, true);
  std::stringstream text;
  text << std::ifstream(folder / "a.npz", std::ios::binary).rdbuf();
  std::string bytes = text.str();
  const std::size_t central = bytes.find(std::string("PK\x01\x02", 4));
  ASSERT_NE(central, std::string::npos);
  bytes[central + 27] = '\x7F';  // the top byte of the size: about 2 GB
  write_file(folder / "a.npz", bytes);
  const Error error = error_of([&] { open_samples(from(folder / "a.npz"), {float_input("x", {1, -1})}); });
  EXPECT_NE(std::string(error.what()).find("cannot hold"), std::string::npos) << error.what();
}

TEST(NpzFolder, IsOneSampleAFileInTheOrderOfNames) {
  const TempFolder folder;
  write_zip(folder / "b.npz", {{"arr_0.npy", npy_of({1, 2}, {3, 4})}}, true);
  write_zip(folder / "a.npz", {{"x.npy", npy_of({1, 2}, {1, 2})}}, true);
  const auto source = open_samples(from(folder.path()), {float_input("x", {1, 2})});
  ASSERT_EQ(source->size(), 2U);
  EXPECT_EQ(source->at(0).at("x").floats()[0], 1.0F);
  EXPECT_EQ(source->at(1).at("x").floats()[0], 3.0F);
}

TEST(NpzFolder, NamesTheFileThatIsWrong) {
  const TempFolder folder;
  write_zip(folder / "a.npz", {{"x.npy", npy_of({1, 2}, {1, 2})}}, true);
  write_zip(folder / "b.npz", {{"x.npy", npy_of({1, 3}, {1, 2, 3})}}, true);
  const auto source = open_samples(from(folder.path()), {float_input("x", {1, 2})});
  const Error error = error_of([&] { source->at(1); });
  EXPECT_NE(std::string(error.what()).find("b.npz: sample"), std::string::npos);
}

}  // namespace
}  // namespace vernier
