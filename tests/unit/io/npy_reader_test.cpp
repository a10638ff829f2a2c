#include <gtest/gtest.h>

#include <cstddef>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "temp_files.h"
#include "vernier/error.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

TEST(NpySource, YieldsSamplesThatOutliveTheSource) {
  const TempFolder folder;
  write_file(folder / "a.npy", npy_of({3, 1, 2}, counting(6)));
  auto source = open_samples(from(folder / "a.npy"), {float_input("x", {1, 2})});
  ASSERT_EQ(source->size(), 3U);
  EXPECT_FALSE(source->is_random());
  EXPECT_NE(source->description().find("a.npy, 3 samples"), std::string::npos);
  const Sample last = source->at(2);
  const Sample first = source->at(0);
  source.reset();
  EXPECT_EQ(first.at("x").floats()[1], 1.0F);
  EXPECT_EQ(last.at("x").floats()[1], 5.0F);
  EXPECT_EQ(last.at("x").shape(), (Shape{1, 2}));
}

TEST(NpySource, ConvertsPerSample) {
  const TempFolder folder;
  write_file(folder / "a.npy", npy_of("|u1", "(2, 3)", "abcdef"));
  const auto source = open_samples(from(folder / "a.npy"), {float_input("x", {1, 3})});
  EXPECT_EQ(source->at(1).at("x").floats()[0], 100.0F);
}

TEST(NpySource, NeedsANetworkWithOneInput) {
  const TempFolder folder;
  write_file(folder / "a.npy", npy_of({1, 2}, counting(2)));
  const Error error = error_of([&] {
    open_samples(from(folder / "a.npy"), {float_input("x", {1, 2}), float_input("y", {1, 2})});
  });
  EXPECT_NE(std::string(error.what()).find("the network has 2: x, y"), std::string::npos);
}

TEST(NpySource, CarriedStateStartsAtZeroInTheGivenShape) {
  const TempFolder folder;
  write_file(folder / "a.npy", npy_of({2, 1, 2}, counting(4)));
  SourceOptions options = from(folder / "a.npy");
  options.carried = {"state"};
  const std::vector<InputInfo> inputs{float_input("x", {1, 2}), float_input("state", {2, -1, 3})};
  EXPECT_EQ(open_samples(options, inputs)->at(1).at("state").shape(), (Shape{2, 1, 3}));
  options.shapes["state"] = {2, 4, 3};
  const Tensor state = open_samples(options, inputs)->at(0).at("state");
  EXPECT_EQ(state.shape(), (Shape{2, 4, 3}));
  for (const float value : state.floats()) EXPECT_EQ(value, 0.0F);
}

TEST(NpySource, OtherSamplesAreReadWhenOneIsBad) {
  const TempFolder folder;
  std::vector<float> values = counting(4);
  values[3] = std::numeric_limits<float>::quiet_NaN();
  write_file(folder / "a.npy", npy_of({2, 1, 2}, values));
  const auto source = open_samples(from(folder / "a.npy"), {float_input("x", {1, 2})});
  EXPECT_NO_THROW(source->at(0));
  const Error error = error_of([&] { source->at(1); });
  EXPECT_NE(std::string(error.what()).find("NaN in the inputs: sample 1, input 'x', element 1"), std::string::npos);
}

TEST(NpySource, ManyThreadsReadTheSameSamples) {
  const TempFolder folder;
  write_file(folder / "a.npy", npy_of({64, 1, 2}, counting(128)));
  const auto source = open_samples(from(folder / "a.npy"), {float_input("x", {1, 2})});
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = 0; i < 64; ++i) {
        if (source->at(i).at("x").floats()[0] != static_cast<float>(2 * i)) ++wrong[t];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

}  // namespace
}  // namespace vernier
