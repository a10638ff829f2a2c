#include "tasks/readings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "vernier/tensor.h"

namespace vernier {
namespace {

ImageChange named(const std::vector<ImageChange>& changes, const std::string& words) {
  const auto found = std::ranges::find(changes, words, &ImageChange::words);
  EXPECT_NE(found, changes.end()) << words;
  return found == changes.end() ? changes.front() : *found;
}

TEST(ImageAxis, IsWhereOneOrThreeChannelsLie) {
  EXPECT_EQ(image_axis({2, 3, 8, 8}), 1);
  EXPECT_EQ(image_axis({2, 8, 8, 3}), 3);
  EXPECT_EQ(image_axis({1, 1, 28, 28}), 1);
  EXPECT_EQ(image_axis({1, 28, 28, 1}), 3);
  EXPECT_EQ(image_axis({1, 16, 8, 8}), -1);
  EXPECT_EQ(image_axis({1, 3, 4, 4}), -1) << "too small to be an image";
  EXPECT_EQ(image_axis({3, 8, 8}), -1);
}

TEST(ImageChanges, FitTheRangeOfTheValues) {
  const auto bytes = image_changes(0, 255, 3);
  EXPECT_EQ(bytes.front().words, "");
  EXPECT_EQ(steps_of(bytes.front()), 0);
  EXPECT_EQ(named(bytes, "divided by 255").factor, std::vector<double>(3, 1.0 / 255));
  EXPECT_EQ(named(bytes, "0..255 to -1..1").offset, std::vector<double>(3, -1));
  const ImageChange undone = named(image_changes(-2.1, 2.6, 3), "ImageNet's mean and deviation undone, to 0..255");
  EXPECT_DOUBLE_EQ(undone.factor[0], 0.229 * 255);
  EXPECT_DOUBLE_EQ(undone.offset[2], 0.406 * 255);
  EXPECT_EQ(named(image_changes(-1, 1, 3), "-1..1 to 0..255").factor[0], 127.5);
  EXPECT_EQ(named(image_changes(0, 1, 3), "times 255").factor[0], 255);
}

TEST(ImageChanges, OneChannelHasNoColours) {
  for (const ImageChange& change : image_changes(0, 255, 1)) {
    EXPECT_FALSE(change.swap) << change.words;
    EXPECT_FALSE(change.relayout) << change.words;
    EXPECT_EQ(change.factor[0], change.factor[2]) << change.words;
  }
}

TEST(StepsOf, CountsWhatIsChanged) {
  const auto all = image_changes(0, 255, 3);
  EXPECT_EQ(steps_of(named(all, "divided by 255")), 1);
  EXPECT_EQ(steps_of(named(all, "red and blue swapped")), 1);
  EXPECT_EQ(steps_of(named(all, "red and blue swapped, divided by 255")), 2);
  EXPECT_EQ(steps_of(named(all, "taken as the other layout (NHWC against NCHW)")), 1);
}

/// [1, 3, 5, 5] with 100 c + 10 y + x in it.
Tensor image() {
  Tensor made(Dtype::Float32, {1, 3, 5, 5});
  for (std::size_t i = 0; i < 75; ++i) {
    made.mutable_floats()[i] = static_cast<float>(100 * (i / 25) + 10 * (i / 5 % 5) + i % 5);
  }
  return made;
}

TEST(Changed, SwapsFirstThenScalesTheChannelsOfTheResult) {
  ImageChange change;
  change.swap = true;
  change.factor = {1, 2, 4};
  change.offset = {0.5, 0, 0};
  const Tensor made = changed(image(), change);
  EXPECT_EQ(made.floats()[7], 212.5F) << "channel 0 was channel 2, at row 1, column 2";
  EXPECT_EQ(made.floats()[25 + 7], 224);
  EXPECT_EQ(made.floats()[50 + 7], 48);
}

TEST(Changed, TheOtherLayoutReadsTheSameBytesInAnotherOrder) {
  ImageChange change;
  change.relayout = true;
  const Tensor from = image();
  const Tensor made = changed(from, change);
  EXPECT_EQ(made.shape(), from.shape());
  // Channel c at row y and column x: byte (5 y + x) 3 + c of what was given.
  EXPECT_EQ(made.floats()[25 + 7], from.floats()[7 * 3 + 1]);
  EXPECT_EQ(made.floats()[50 + 24], from.floats()[24 * 3 + 2]);
}

TEST(SmootherInOtherLayout, IsAPictureWhoseBytesAreReadWrongly) {
  Tensor right(Dtype::Float32, {1, 3, 16, 16});
  const std::span<float> values = right.mutable_floats();
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i / 256) * 0.3F + static_cast<float>(i / 16 % 16 + i % 16) / 32;
  }
  EXPECT_FALSE(smoother_in_other_layout(right));
  Tensor wrong(Dtype::Float32, right.shape());  // NHWC in the shape of NCHW
  for (std::size_t i = 0; i < values.size(); ++i) wrong.mutable_floats()[i % 256 * 3 + i / 256] = values[i];
  EXPECT_TRUE(smoother_in_other_layout(wrong));
}

TEST(Enlarges, IsWhatMakesAnyNetworkSurer) {
  EXPECT_TRUE(enlarges(named(image_changes(0, 1, 3), "times 255")));
  EXPECT_TRUE(enlarges(named(image_changes(0, 1, 3), "0..1 to -1..1")));
  EXPECT_FALSE(enlarges(named(image_changes(0, 255, 3), "divided by 255")));
  EXPECT_FALSE(enlarges(named(image_changes(0, 255, 3), "red and blue swapped")));
}

}  // namespace
}  // namespace vernier
