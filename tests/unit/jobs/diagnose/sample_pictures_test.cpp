#include "jobs/diagnose/sample_pictures.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "base/base64.h"
#include "io/decode_image.h"

namespace vernier {
namespace {

std::vector<InputInfo> inputs() {
  InputInfo length, image;
  length.name = "length";
  image.name = "image";
  return {length, image};
}

Pixels decoded(const SamplePicture& picture) {
  std::vector<std::byte> file(base64_decoded_size(picture.png).value());
  EXPECT_TRUE(decode_base64(picture.png, file));
  return decode_rgb(file, "picture");
}

Sample sample(Shape shape, std::vector<float> values) {
  Sample made;
  made["length"] = Tensor::of({1}, std::vector<float>{3});
  made["image"] = Tensor::of(std::move(shape), values);
  return made;
}

TEST(SamplePictures, StretchesValuesFromBlackToWhite) {
  // The planes of red, green and blue, of five by five pixels.
  std::vector<float> values;
  for (const float value : {-1.F, 0.F, 1.F}) values.insert(values.end(), 25, value);
  values[24] = 1;
  const auto samples = samples_in_memory({sample({1, 3, 5, 5}, values)}, "s");
  const auto pictures = sample_pictures(*samples, inputs(), {0});
  ASSERT_EQ(pictures.size(), 1U);
  EXPECT_EQ(pictures[0].sample, 0U);
  EXPECT_EQ(pictures[0].input, "image");
  const Pixels pixels = decoded(pictures[0]);
  EXPECT_EQ(pixels.width, 5);
  EXPECT_EQ(pixels.height, 5);
  EXPECT_EQ(std::vector(pixels.values.begin(), pixels.values.begin() + 3), (std::vector<std::uint8_t>{0, 128, 255}));
  EXPECT_EQ(std::vector(pixels.values.end() - 3, pixels.values.end()), (std::vector<std::uint8_t>{255, 128, 255}));
}

TEST(SamplePictures, ReadsChannelsThatComeLast) {
  std::vector<float> values(75, 0);
  values[2] = 255;
  const auto samples = samples_in_memory({sample({1, 5, 5, 3}, values)}, "s");
  const auto pictures = sample_pictures(*samples, inputs(), {0});
  ASSERT_EQ(pictures.size(), 1U);
  const Pixels pixels = decoded(pictures[0]);
  EXPECT_EQ(std::vector(pixels.values.begin(), pixels.values.begin() + 4), (std::vector<std::uint8_t>{0, 0, 255, 0}));
}

TEST(SamplePictures, MakesLargeOnesSmallAndKeepsTheirProportions) {
  const auto samples = samples_in_memory({sample({1, 1, 50, 300}, std::vector<float>(15000, 1))}, "s");
  const Pixels pixels = decoded(sample_pictures(*samples, inputs(), {0}).at(0));
  EXPECT_EQ(pixels.width, kSamplePicture);
  EXPECT_EQ(pixels.height, 16);
  EXPECT_EQ(pixels.values.front(), 0) << "an even image is black";
}

TEST(SamplePictures, AreOfTheSamplesAskedForAndOfImagesAlone) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> broken(25, 1);
  broken.front() = nan;
  const auto samples = samples_in_memory(
      {sample({1, 1, 5, 5}, std::vector<float>(25, 1)), sample({2}, {0, 1}), sample({1, 1, 5, 5}, broken)}, "s");
  const auto pictures = sample_pictures(*samples, inputs(), {2, 1, 7});
  ASSERT_EQ(pictures.size(), 1U);
  EXPECT_EQ(pictures[0].sample, 2U);
  EXPECT_EQ(decoded(pictures[0]).values.front(), 0);
}

}  // namespace
}  // namespace vernier
