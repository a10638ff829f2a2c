#include "io/resample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "temp_files.h"
#include "vernier/error.h"

namespace vernier {
namespace {

Pixels gradient(int width, int height) {
  Pixels image{width, height, 3, {}};
  std::uint32_t state = 12345;
  for (int i = 0; i < width * height * 3; ++i) {
    state = state * 1664525 + 1013904223;
    image.values.push_back(static_cast<std::uint8_t>(state >> 24));
  }
  return image;
}

TEST(ResizeBilinear, TheSameSizeChangesNothing) {
  const Pixels image = gradient(13, 7);
  EXPECT_EQ(resize_bilinear(image, 13, 7, {0, 0, 13, 7}).values, image.values);
}

TEST(ResizeBilinear, AWindowIsThatPartOfTheWhole) {
  const Pixels image = gradient(40, 30);
  const Pixels whole = resize_bilinear(image, 17, 50, {0, 0, 17, 50});
  const Pixels part = resize_bilinear(image, 17, 50, {3, 10, 5, 20});
  for (std::size_t y = 0; y < 20; ++y) {
    for (std::size_t x = 0; x < 15; ++x) EXPECT_EQ(part.values[y * 15 + x], whole.values[(y + 10) * 51 + 9 + x]);
  }
}

TEST(ResizeBilinear, AConstantStaysConstant) {
  Pixels image{100, 3, 1, std::vector<std::uint8_t>(300, 200)};
  for (const std::uint8_t value : resize_bilinear(image, 7, 11, {0, 0, 7, 11}).values) EXPECT_EQ(value, 200);
}

TEST(ResizeBilinear, AWindowOutsideIsOurOwnFault) {
  EXPECT_EQ(error_of([] { resize_bilinear(gradient(4, 4), 4, 4, {1, 0, 4, 4}); }).kind(), ErrorKind::Internal);
}

// The same bytes through Pillow's resize, for reductions, enlargements and both at once. Pillow 13 goes vertically
// first where the height shrinks by more than twice what the width does: the first pass rounds other values there, so a
// step is allowed. `is_exact` marks the sizes where all versions go horizontally first.
TEST(ResizeBilinear, EqualsPillowToTheLastBit) {
  const TempFolder folder;
  const Pixels image = gradient(123, 77);
  write_file(folder / "image", std::string(image.values.begin(), image.values.end()));
  write_file(folder / "resize.py", R"(
import sys
from PIL import Image
im = Image.frombytes('RGB', (123, 77), open(sys.argv[1] + '/image', 'rb').read())
for w, h in ((60, 40), (200, 300), (224, 10), (1, 1), (122, 77), (7, 400)):
    open(f'{sys.argv[1]}/{w}x{h}', 'wb').write(im.resize((w, h), Image.BILINEAR).tobytes())
)");
  const auto status = run_python("PIL", folder / "resize.py", "'" + folder.path().string() + "'");
  if (!status) VERNIER_SKIP_OR_FAIL("no Python with Pillow");
  ASSERT_EQ(*status, 0);
  struct Size {
    int width, height;
    bool is_exact;
  };
  for (const auto& [width, height, is_exact] : {Size{60, 40, true}, Size{200, 300, true}, Size{224, 10, false},
                                                Size{1, 1, true}, Size{122, 77, true}, Size{7, 400, true}}) {
    const Pixels mine = resize_bilinear(image, width, height, {0, 0, width, height});
    std::FILE* file = std::fopen((folder / (std::to_string(width) + "x" + std::to_string(height))).c_str(), "rb");
    ASSERT_NE(file, nullptr);
    std::vector<std::uint8_t> theirs(mine.values.size());
    EXPECT_EQ(std::fread(theirs.data(), 1, theirs.size(), file), theirs.size());
    std::fclose(file);
    int largest = 0;
    for (std::size_t i = 0; i < theirs.size(); ++i) largest = std::max(largest, std::abs(mine.values[i] - theirs[i]));
    EXPECT_LE(largest, is_exact ? 0 : 1) << width << "x" << height;
  }
}

}  // namespace
}  // namespace vernier
