// Samples of the caller's: checked like those of a file, shared and not copied.
#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "temp_files.h"
#include "vernier/error.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

SourceOptions arrays(std::map<std::string, Tensor> given) {
  SourceOptions options;
  options.arrays = std::move(given);
  return options;
}

std::string refusal(const SourceOptions& options, const std::vector<InputInfo>& inputs) {
  try {
    open_samples(options, inputs);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Input);
    return error.what();
  }
  return "";
}

TEST(ArraysInMemory, AreStackedAsInANpz) {
  const Tensor stacked = Tensor::of({3, 1, 2}, counting(6));
  const auto source = open_samples(arrays({{"x", stacked}}), {float_input("x", {1, 2})});
  ASSERT_EQ(source->size(), 3U);
  EXPECT_EQ(source->description(), "arrays in memory, 3 samples");
  const Sample second = source->at(1);
  EXPECT_EQ(second.at("x").shape(), (Shape{1, 2}));
  EXPECT_EQ(second.at("x").floats()[0], 2.0F);
  EXPECT_EQ(second.at("x").bytes().data(), stacked.bytes().data() + 8) << "a view, no copy";
}

TEST(ArraysInMemory, OutliveTheOptions) {
  std::unique_ptr<SampleSource> source;
  Sample last;
  {
    SourceOptions options = arrays({{"x", Tensor::of({2, 1, 2}, counting(4))}});
    source = open_samples(options, {float_input("x", {1, 2})});
    options = {};
    last = source->at(1);
  }
  source.reset();
  EXPECT_EQ(last.at("x").floats()[1], 3.0F);
}

TEST(ArraysInMemory, MessagesSayWhatIsWrong) {
  const std::vector<InputInfo> two{float_input("x", {1, 2}), float_input("z", {1, 2})};
  const Tensor three = Tensor::of({3, 1, 2}, counting(6));
  const Tensor one = Tensor::of({1, 1, 2}, counting(2));
  EXPECT_NE(refusal(arrays({{"x", three}}), two).find("z"), std::string::npos);
  EXPECT_EQ(refusal(arrays({{"x", three}, {"z", one}}), two),
            "arrays in memory: the array for input 'x' holds 3 samples, the one for 'z' holds 1");
  EXPECT_NE(refusal(arrays({{"x", three}, {"y", one}}), {float_input("x", {1, 2})}).find("y"), std::string::npos);
  EXPECT_NE(refusal(arrays({{"x", Tensor::of({3, 1, 1}, counting(3))}}), {float_input("x", {1, 2})}).find("1x2"),
            std::string::npos);
}

TEST(SamplesInMemory, AreReadAsTheyAre) {
  const Tensor value = Tensor::of({1, 2}, counting(2));
  SourceOptions options;
  options.source = samples_in_memory({{{"x", value}}, {{"x", value}}}, "mine");
  options.limit = 1;
  const auto source = open_samples(options, {float_input("x", {1, 2})});
  EXPECT_EQ(source->description(), "mine, 1 sample of 2");
  EXPECT_EQ(source->at(0).at("x").bytes().data(), value.bytes().data());
  EXPECT_FALSE(options.is_random());
}

TEST(SamplesInMemory, BecomeTheInputsTypes) {
  SourceOptions options;
  options.source = samples_by(2, [](std::size_t index) {
    Tensor bytes(Dtype::UInt8, {1, 2});
    bytes.mutable_bytes()[0] = static_cast<std::byte>(index);
    return Sample{{"x", bytes}};
  });
  const auto source = open_samples(options, {float_input("x", {1, 2})});
  EXPECT_EQ(source->at(1).at("x").floats()[0], 1.0F);
}

TEST(SamplesInMemory, AreRefusedLikeFiles) {
  SourceOptions options;
  options.source = samples_in_memory({});
  EXPECT_EQ(refusal(options, {float_input("x", {1, 2})}), "samples in memory: holds no samples");
  options.source = samples_in_memory({{{"y", Tensor::of({1, 2}, counting(2))}}});
  EXPECT_NE(refusal(options, {float_input("x", {1, 2})}).find("'x'"), std::string::npos);
}

}  // namespace
}  // namespace vernier
