#include "io/fit.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>

#include "temp_files.h"
#include "vernier/error.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

void expect_split(const Shape& input, const Shape& array, bool split_batch, std::size_t samples, const Shape& sample) {
  const Split split = split_samples(float_input("x", input), array, split_batch, "f.npy");
  EXPECT_EQ(split.samples, samples) << shape_text(array);
  EXPECT_EQ(split.sample_shape, sample) << shape_text(array);
}

TEST(SplitSamples, AnExtraFirstAxisCountsSamples) {
  expect_split({1, 3, 4, 4}, {20, 1, 3, 4, 4}, false, 20, {1, 3, 4, 4});
  expect_split({-1, 3, 4, 4}, {20, 7, 3, 4, 4}, false, 20, {7, 3, 4, 4});
  expect_split({}, {20}, false, 20, {});
}

TEST(SplitSamples, TheInputsOwnRankIsOneSample) {
  expect_split({1, 3, 4, 4}, {1, 3, 4, 4}, false, 1, {1, 3, 4, 4});
  expect_split({-1, 3, 4, 4}, {20, 3, 4, 4}, false, 1, {20, 3, 4, 4});
  expect_split({}, {}, false, 1, {});
}

TEST(SplitSamples, AFixedBatchOfOneIsAddedToEachSample) {
  expect_split({1, 3, 4, 4}, {20, 3, 4, 4}, false, 20, {1, 3, 4, 4});
  expect_split({1}, {20}, false, 20, {1});
}

TEST(SplitSamples, ADynamicBatchIsSplitOnRequestOnly) {
  expect_split({-1, 3, 4, 4}, {20, 3, 4, 4}, true, 20, {1, 3, 4, 4});
  expect_split({-1, -1}, {64, 128}, true, 64, {1, 128});
  expect_split({1, 3, 4, 4}, {1, 3, 4, 4}, true, 1, {1, 3, 4, 4});
}

TEST(SplitSamples, RefusesOtherShapesAndSaysBoth) {
  const Error error = error_of([] { split_samples(float_input("x", {1, 3, 4, 5}), {20, 3, 4, 6}, false, "f.npy"); });
  EXPECT_EQ(error.kind(), ErrorKind::Input);
  EXPECT_STREQ(error.what(), "f.npy: input 'x' wants shape 1x3x4x5, the array has shape 20x3x4x6");
  EXPECT_EQ(error.hint(), "give Nx1x3x4x5 for N samples, or one sample of exactly 1x3x4x5");
}

TEST(SplitSamples, GuessesATransposedImage) {
  const Error error = error_of([] { split_samples(float_input("x", {1, 3, 4, 5}), {1, 4, 5, 3}, false, "f.npy"); });
  EXPECT_NE(error.hint().find("transpose"), std::string::npos);
}

TEST(SplitSamples, NamesSwappedAxesOfAnImage) {
  const auto hint = [](const Shape& wanted, const Shape& array) {
    return error_of([&] { split_samples(float_input("x", wanted), array, false, "f.npy"); }).hint();
  };
  const std::string swapped = "the axes look swapped: Nx32x32x3 for Nx3x32x32; transpose the array";
  EXPECT_EQ(hint({-1, 3, 32, 32}, {20, 1, 32, 32, 3}), swapped);
  EXPECT_EQ(hint({1, 3, 32, 32}, {20, 32, 32, 3}), swapped);
  EXPECT_EQ(hint({1, 32, 32, 3}, {20, 3, 32, 32}),
            "the axes look swapped: Nx3x32x32 for Nx32x32x3; transpose the array");
  EXPECT_EQ(hint({1, 3, 32, 32}, {20, 48, 48, 3}).find("swapped"), std::string::npos);
}

TEST(SplitSamples, AFixedBatchLargerThanOneIsNotGuessedAt) {
  EXPECT_THROW(split_samples(float_input("x", {4, 3}), {20, 3}, true, "f.npy"), Error);
}

TEST(SplitSamples, ZeroSamplesAreAnError) {
  EXPECT_THROW(split_samples(float_input("x", {1, 3}), {0, 3}, false, "f.npy"), Error);
  EXPECT_THROW(split_samples(float_input("x", {-1, 3}), {0, 3}, true, "f.npy"), Error);
}

TEST(CheckNames, ListsBothSidesAndTheNearestName) {
  const std::vector<InputInfo> inputs{float_input("image", {1}), float_input("mask", {1})};
  const Error missing = error_of([&] { check_names(inputs, {}, {"image", "msk"}, "f.npz"); });
  EXPECT_STREQ(missing.what(),
               "f.npz: no array for input 'mask': the network has inputs image, mask, the data has arrays image, msk");
  EXPECT_EQ(missing.hint(), "rename the array 'msk' to 'mask'");
  const Error other = error_of([&] { check_names({float_input("input", {1})}, {}, {"arr_0"}, "f.npz"); });
  EXPECT_EQ(other.hint(), "rename the array 'arr_0' to 'input'") << "nothing else can be meant";
  const Error none = error_of([&] { check_names(inputs, {}, {"image"}, "f.npz"); });
  EXPECT_EQ(none.hint(), "add an array named 'mask'");
  const Error extra = error_of([&] { check_names(inputs, {}, {"image", "mask", "label"}, "f.npz"); });
  EXPECT_NE(std::string(extra.what()).find("no input is called 'label'"), std::string::npos);
  EXPECT_EQ(extra.hint(), "leave that array out");
}

TEST(CheckNames, CarriedInputsMayBeMissing) {
  EXPECT_NO_THROW(check_names({float_input("x", {1}), float_input("state", {1})}, {"state"}, {"x"}, "f"));
}

TEST(Fit, RefusesNanAndInfinityNamingSampleInputAndElement) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor bad = Tensor::of({3}, std::vector<float>{0, 0, nan});
  const Error error = error_of([&] { fit(bad, float_input("x", {3}), 4, "f.npy"); });
  EXPECT_EQ(error.kind(), ErrorKind::Input);
  EXPECT_STREQ(error.what(), "f.npy: NaN in the inputs: sample 4, input 'x', element 2");
  const Tensor infinite = Tensor::of({1}, std::vector<float>{std::numeric_limits<float>::infinity()});
  EXPECT_NE(std::string(error_of([&] { fit(infinite, float_input("x", {1}), 0, "f"); }).what()).find("infinity"),
            std::string::npos);
}

TEST(Fit, TakesNegativeInfinityWhichMasksAreMadeOf) {
  const float never = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(fit(Tensor::of({2}, std::vector<float>{0, never}), float_input("x", {2}), 0, "f").floats()[1], never);
  Tensor half(Dtype::Float16, {1});
  const std::uint16_t bits = 0xFC00;
  std::memcpy(half.mutable_bytes().data(), &bits, sizeof(bits));
  InputInfo input = float_input("x", {1});
  input.dtype = Dtype::Float16;
  EXPECT_NO_THROW(fit(half, input, 0, "f"));
}

TEST(Fit, RefusesBooleansOtherThanZeroAndOne) {
  Tensor tensor(Dtype::Bool, {2});
  tensor.mutable_bytes()[1] = std::byte{2};
  EXPECT_THROW(fit(tensor, {"b", Dtype::Bool, {2}, 0}, 0, "f"), Error);
}

TEST(Fit, SaysBothTypesWhenOneWouldLoseValues) {
  const Error error = error_of([] {
    fit(Tensor::of({1}, std::vector<float>{1}), {"x", Dtype::Float16, {1}, 0}, 0, "f.npy");
  });
  EXPECT_STREQ(error.what(), "f.npy: input 'x' wants float16, the array is float32");
}

TEST(Fit, SharesBytesThatNeedNoChange) {
  const Tensor found = Tensor::of({2}, std::vector<float>{1, 2});
  EXPECT_EQ(fit(found, float_input("x", {-1}), 0, "f").bytes().data(), found.bytes().data());
}

}  // namespace
}  // namespace vernier
