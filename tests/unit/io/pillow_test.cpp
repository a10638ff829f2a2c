// The images source against the script that makes the reference inputs with Pillow.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "temp_files.h"
#include "vernier/error.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

struct Network {
  const char* name;
  Shape input;
  ImageOptions options;
  double eight_bit_step;  // what one 8-bit step is in the network's input
};

// torchvision's Resize and CenterCrop, on images of Pillow.
constexpr const char* kTorchvisionCrop = R"(
import numpy as np
from PIL import Image
def torchvision_crop(im, short, size):
    w, h = im.size
    im = im.resize((short, int(short * h / w)) if w <= h else (int(short * w / h), short), Image.BILINEAR)
    left, top = int(round((im.size[0] - size) / 2.0)), int(round((im.size[1] - size) / 2.0))
    return np.asarray(im.crop((left, top, left + size, top + size)), np.float32)
)";

class PillowInputs : public testing::TestWithParam<Network> {};

INSTANTIATE_TEST_SUITE_P(
    Networks, PillowInputs,
    testing::Values(
        Network{"mobilenetv2-imagenet",
                {1, 3, 224, 224},
                {"short-crop:256,224", {128}, {128}, ImageColor::Rgb, {}},
                1.0 / 128},
        Network{"squeezenet-imagenet",
                {1, 3, 224, 224},
                {"short-crop:256,224", {104, 117, 123}, {}, ImageColor::Bgr, {}},
                1.0},
        Network{"yolox-nano", {1, 3, 416, 416}, {"letterbox:416,topleft", {}, {}, ImageColor::Bgr, {}}, 1.0},
        Network{"rfb320-face", {1, 3, 240, 320}, {"", {127}, {128}, ImageColor::Rgb, ImageLayout::Nchw}, 1.0 / 128}),
    [](const auto& test) {
      std::string name = test.param.name;
      for (char& c : name) c = c == '-' ? '_' : c;
      return name;
    });

TEST_P(PillowInputs, AgreeWithinTheDifferenceOfJpegDecoders) {
  const auto shared = shared_folder();
  if (!shared) VERNIER_SKIP_OR_FAIL("no shared data: set VERNIER_SHARED");
  constexpr std::size_t kImages = 12;
  const TempFolder folder;
  const std::filesystem::path photos = *shared / "data" / "imagenet";
  ::setenv("VERNIER_DATA", photos.c_str(), 1);
  // The script rounds the long side of a crop, torchvision drops its fraction.
  write_file(folder / "make.py", std::string(kTorchvisionCrop) + R"(
import sys
sys.path.insert(0, sys.argv[1])
import inputs
inputs.crop = torchvision_crop
np.save(sys.argv[4], np.stack(inputs.load(sys.argv[2], int(sys.argv[3]))))
)");
  const auto status = run_python("PIL, numpy", folder / "make.py",
                                 fmt::format("'{}' {} {} '{}'", (*shared / "tools").string(), GetParam().name, kImages,
                                             (folder / "ref.npy").string()));
  if (!status) VERNIER_SKIP_OR_FAIL("no Python with Pillow and numpy");
  ASSERT_EQ(*status, 0);

  const std::vector<InputInfo> inputs{float_input("x", GetParam().input)};
  const auto reference = open_samples(from(folder / "ref.npy"), inputs);
  SourceOptions options = from(photos);
  options.image = GetParam().options;
  options.limit = kImages;
  const auto mine = open_samples(options, inputs);
  ASSERT_EQ(mine->size(), reference->size());
  double worst = 0;
  for (std::size_t i = 0; i < kImages; ++i) {
    const Tensor a = reference->at(i).at("x");
    const Tensor b = mine->at(i).at("x");
    double sum = 0;
    for (std::size_t k = 0; k < a.floats().size(); ++k)
      sum += std::fabs(static_cast<double>(a.floats()[k]) - static_cast<double>(b.floats()[k]));
    worst = std::max(worst, sum / static_cast<double>(a.count()) / GetParam().eight_bit_step);
  }
  RecordProperty("worst_mean_difference_in_steps", fmt::format("{:.4f}", worst));
  // Both decoders follow the standard's tolerance for the inverse DCT and interpolate chroma in their own way.
  EXPECT_LT(worst, 0.6);
}

// PNG is lossless, so decoding adds nothing, and every step must be the same.
TEST(PillowImages, LosslessImagesAgreeExactly) {
  const TempFolder folder;
  write_file(folder / "make.py", std::string(kTorchvisionCrop) + R"(
import sys
d = sys.argv[1]
im = Image.fromarray(np.random.RandomState(3).randint(0, 256, (50, 90, 3), dtype=np.uint8))
im.save(d + '/images/a.PNG')
a = np.asarray(im.resize((int(round(90 * 32 / 50)), 32), Image.BILINEAR), np.float32)[:, :, ::-1]
np.save(d + '/height.npy', np.ascontiguousarray(((a - np.float32(127.5)) / np.float32(127.5)).transpose(2, 0, 1)[None]))
for name, crop in (('wide', torchvision_crop(im, 37, 34)), ('tall', torchvision_crop(im.transpose(Image.ROTATE_90), 37, 34))):
    np.save(d + '/' + name + '.npy', np.ascontiguousarray(crop.transpose(2, 0, 1)[None]))
im.transpose(Image.ROTATE_90).save(d + '/tall/a.png')
y = im.convert('YCbCr').split()[0].resize((24, 20), Image.BILINEAR)
np.save(d + '/luma.npy', np.asarray(y, np.float32)[None, :, :, None])
)");
  std::filesystem::create_directories(folder / "images");
  std::filesystem::create_directories(folder / "tall");
  const auto status = run_python("PIL, numpy", folder / "make.py", "'" + folder.path().string() + "'");
  if (!status) VERNIER_SKIP_OR_FAIL("no Python with Pillow and numpy");
  ASSERT_EQ(*status, 0);
  const auto expect_equal = [&](const std::string& npy, const InputInfo& input, const ImageOptions& image,
                                const char* images = "images") {
    SourceOptions options = from(folder / images);
    options.image = image;
    const Tensor mine = open_samples(options, {input})->at(0).at("x");
    const Tensor theirs = open_samples(from(folder / npy), {input})->at(0).at("x");
    ASSERT_EQ(mine.shape(), theirs.shape()) << npy;
    for (std::size_t i = 0; i < mine.floats().size(); ++i)
      ASSERT_EQ(mine.floats()[i], theirs.floats()[i]) << npy << " " << i;
  };
  expect_equal("height.npy", float_input("x", {-1, 3, 32, -1}), {"height:32", {127.5F}, {127.5F}, ImageColor::Bgr, {}});
  expect_equal("luma.npy", float_input("x", {-1, -1, -1, 1}),
               {"stretch:24x20", {}, {}, ImageColor::Y, ImageLayout::Nhwc});
  // 66.6 pixels are 66, as in torchvision, and a margin of 1.5 pixels is 2.
  expect_equal("wide.npy", float_input("x", {1, 3, 34, 34}), {"short-crop:37,34", {}, {}, ImageColor::Rgb, {}});
  expect_equal("tall.npy", float_input("x", {1, 3, 34, 34}), {"short-crop:37,34", {}, {}, ImageColor::Rgb, {}}, "tall");
}

TEST(Images, SayWhatIsWrongWithTheOptions) {
  const TempFolder folder;
  write_file(folder / "a.jpg", "no image");
  const auto kind_and_text = [&](const ImageOptions& image, const InputInfo& input) {
    SourceOptions options = from(folder / "a.jpg");
    options.image = image;
    return error_of([&] { open_samples(options, {input}); });
  };
  const InputInfo input = float_input("x", {1, 3, 8, 8});
  EXPECT_EQ(kind_and_text({"", {}, {0}, ImageColor::Rgb, {}}, input).kind(), ErrorKind::Usage);
  EXPECT_EQ(kind_and_text({"", {1, 2}, {}, ImageColor::Rgb, {}}, input).kind(), ErrorKind::Usage);
  EXPECT_NE(kind_and_text({"", {}, {}, ImageColor::Y, {}}, input).hint().find("‹image-color› rgb"), std::string::npos);
  EXPECT_NE(kind_and_text({"", {}, {}, ImageColor::Rgb, {}}, float_input("x", {1, 3, -1, -1})).hint().find("‹image›"),
            std::string::npos);
  EXPECT_NE(std::string(kind_and_text({"", {}, {}, ImageColor::Rgb, {}}, input).what())
                .find("a.jpg: cannot decode this image"),
            std::string::npos);
  EXPECT_EQ(kind_and_text({"", {}, {}, ImageColor::Rgb, {}}, float_input("x", {8, 3, 8, 8})).kind(), ErrorKind::Input);
}

}  // namespace
}  // namespace vernier
