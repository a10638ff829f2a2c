#include "io/image_geometry.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "temp_files.h"
#include "vernier/error.h"

namespace vernier {
namespace {

Pixels plain(int width, int height) {
  return {width, height, 1, std::vector<std::uint8_t>(static_cast<std::size_t>(width * height), 9)};
}

TEST(ImageGeometry, ReadsTheFourKinds) {
  EXPECT_EQ(parse_image_geometry("short-crop:256,224").short_side, 256);
  EXPECT_EQ(parse_image_geometry("stretch:320x240").width, 320);
  EXPECT_EQ(parse_image_geometry("height:32").height, 32);
  const ImageGeometry box = parse_image_geometry("letterbox:416,topleft,pad=7");
  EXPECT_EQ(box.pad, 7);
  EXPECT_FALSE(box.is_centered);
  EXPECT_EQ(parse_image_geometry("letterbox:416").pad, 114);
}

TEST(ImageGeometry, RefusesEverythingElseAsUsage) {
  for (const char* text : {"", "224", "crop:3", "short-crop:224,256", "short-crop:256", "stretch:320", "stretch:0x3",
                           "stretch:3x99999", "letterbox:416,pad=300", "letterbox:416,left", "height:", "height:3x"}) {
    EXPECT_EQ(error_of([&] { parse_image_geometry(text); }).kind(), ErrorKind::Usage) << text;
  }
}

TEST(ImageGeometry, LetterboxPadsWhatTheImageDoesNotFill) {
  const Pixels centered = shape_image(plain(8, 4), parse_image_geometry("letterbox:4,pad=1"), "f");
  EXPECT_EQ(centered.values, (std::vector<std::uint8_t>{1, 1, 1, 1, 9, 9, 9, 9, 9, 9, 9, 9, 1, 1, 1, 1}));
  const Pixels top = shape_image(plain(8, 4), parse_image_geometry("letterbox:4,pad=1,topleft"), "f");
  EXPECT_EQ(top.values, (std::vector<std::uint8_t>{9, 9, 9, 9, 9, 9, 9, 9, 1, 1, 1, 1, 1, 1, 1, 1}));
}

TEST(ImageGeometry, HeightKeepsTheProportion) {
  const Pixels image = shape_image(plain(100, 50), parse_image_geometry("height:32"), "f");
  EXPECT_EQ(image.width, 64);
  EXPECT_EQ(image.height, 32);
}

TEST(ImageGeometry, AnExtremelyNarrowImageTakesLittleMemory) {
  EXPECT_EQ(shape_image(plain(100000, 1), parse_image_geometry("short-crop:256,224"), "f").width, 224);
  EXPECT_THROW(shape_image(plain(100000, 1), parse_image_geometry("height:32"), "f"), Error);
  EXPECT_EQ(shape_image(plain(100000, 1), parse_image_geometry("letterbox:32"), "f").height, 32);
}

}  // namespace
}  // namespace vernier
