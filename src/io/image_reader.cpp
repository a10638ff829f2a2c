// A folder of images, or one image, for a network with one input: decoded, brought into shape, normalised.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/float_codes.h"
#include "base/mapped_file.h"
#include "base/text.h"
#include "io/array_reader.h"
#include "io/decode_image.h"
#include "io/image_geometry.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

constexpr std::string_view kExtensions[] = {".jpg", ".jpeg", ".png", ".bmp", ".gif", ".ppm", ".pgm", ".tga", ".psd"};
// Formats of photographs that are not decoded.
constexpr std::string_view kUnreadExtensions[] = {".webp", ".tif", ".tiff", ".heic", ".heif", ".avif",
                                                  ".jp2",  ".j2k", ".jxl",  ".jfif", ".pbm",  ".pnm",
                                                  ".exr",  ".hdr", ".dng",  ".ico",  ".svg"};

// One value for every channel, for an option that gives none, one, or one a channel.
std::vector<float> per_channel(const std::vector<float>& given, float absent, std::size_t channels,
                               const std::string& option) {
  if (given.empty()) return std::vector<float>(channels, absent);
  if (given.size() != 1 && given.size() != channels) {
    throw Error(ErrorCode::BadValue,
                fmt::format("{} has {} values, the images have {} channels", option, given.size(), channels));
  }
  for (const float value : given) {
    if (!std::isfinite(value)) throw Error(ErrorCode::BadValue, fmt::format("{} holds {}", option, value));
  }
  return given.size() == 1 ? std::vector<float>(channels, given[0]) : given;
}

// Which of the last three axes of the input are channels.
bool is_channels_first(const InputInfo& input, std::optional<ImageLayout> layout, std::int64_t channels,
                       const std::string& where) {
  const std::size_t rank = input.shape.size();
  if (rank != 3 && rank != 4) {
    throw Error(ErrorCode::Image, fmt::format("{}: input '{}' of shape {} is not an image", where,
                                              printable(input.name), shape_text(input.shape)));
  }
  if (rank == 4 && input.shape[0] > 1) {
    throw Error(ErrorCode::Image,
                fmt::format("{}: input '{}' has a fixed batch of {}, images come one at a time", where,
                            printable(input.name), input.shape[0]),
                "export the network with batch 1 or a dynamic batch");
  }
  if (layout) return *layout == ImageLayout::Nchw;
  if (input.shape[rank - 3] == channels) return true;
  if (input.shape[rank - 1] == channels) return false;
  throw Error(ErrorCode::Image,
              fmt::format("{}: no axis of input '{}' of shape {} has the {} channels of the images", where,
                          printable(input.name), shape_text(input.shape), channels),
              channels == 3 ? "for one channel: ‹image-color› y; for a dynamic axis: ‹image-layout› nchw|nhwc"
                            : "for three channels: ‹image-color› rgb; for a dynamic axis: ‹image-layout› nchw|nhwc");
}

class ImageReader final : public ArrayReader {
 public:
  ImageReader(std::vector<std::filesystem::path> files, std::vector<std::string> skipped, const OpenRequest& request)
      : files_(std::move(files)), skipped_(std::move(skipped)), input_(only_input(request, "a source of images")) {
    const ImageOptions& options = request.options.image;
    color_ = options.color;
    channels_ = color_ == ImageColor::Y ? 1 : 3;
    mean_ = per_channel(options.mean, 0, channels_, "‹image-mean›");
    scale_ = per_channel(options.scale, 1, channels_, "‹image-std›");
    if (std::find(scale_.begin(), scale_.end(), 0.0F) != scale_.end()) {
      throw Error(ErrorCode::BadValue, "‹image-std› holds 0, which cannot divide");
    }
    channels_first_ =
        is_channels_first(input_, options.layout, static_cast<std::int64_t>(channels_), request.location.text);
    const bool normalised = !options.mean.empty() || !options.scale.empty();
    if (input_.dtype != Dtype::Float32 && input_.dtype != Dtype::Float16 &&
        (input_.dtype != Dtype::UInt8 || normalised)) {
      throw Error(ErrorCode::Image,
                  fmt::format("{}: input '{}' is {}, images are float32, float16, or uint8 without "
                              "mean and std",
                              request.location.text, printable(input_.name), dtype_name(input_.dtype)));
    }
    geometry_ = options.geometry.empty() ? input_size(request.location.text) : parse_image_geometry(options.geometry);
  }

  std::size_t size() const override { return files_.size(); }
  bool reads_images() const override { return true; }
  std::vector<std::string> skipped_images() const override { return skipped_; }

  FoundSample read(std::size_t index) const override {
    const std::string where = printable(files_[index].string());
    Pixels image = decode_rgb(MappedFile::open(files_[index])->bytes(), where);
    if (color_ == ImageColor::Y) image = luma_of(image);
    return {{{input_.name, to_tensor(shape_image(image, geometry_, where))}}, where};
  }

 private:
  ImageGeometry input_size(const std::string& where) const {
    const std::size_t rank = input_.shape.size();
    const std::int64_t height = input_.shape[channels_first_ ? rank - 2 : rank - 3];
    const std::int64_t width = input_.shape[channels_first_ ? rank - 1 : rank - 2];
    if (width < 1 || height < 1) {
      throw Error(
          ErrorCode::Image,
          fmt::format("{}: input '{}' of shape {} takes any size", where, printable(input_.name),
                      shape_text(input_.shape)),
          "say how images become inputs: ‹image› short-crop:256,224 | stretch:WxH | letterbox:SIZE | height:32");
    }
    return parse_image_geometry(fmt::format("stretch:{}x{}", width, height));
  }

  Tensor to_tensor(const Pixels& image) const {
    const Shape axes = channels_first_ ? Shape{static_cast<std::int64_t>(channels_), image.height, image.width}
                                       : Shape{image.height, image.width, static_cast<std::int64_t>(channels_)};
    Shape shape = axes;
    if (input_.shape.size() == 4) shape.insert(shape.begin(), 1);
    Tensor tensor(input_.dtype, std::move(shape));
    std::byte* out = tensor.mutable_bytes().data();
    const std::size_t area = image.values.size() / channels_;
    for (std::size_t pixel = 0; pixel < area; ++pixel) {
      for (std::size_t c = 0; c < channels_; ++c) {
        const std::size_t from = pixel * channels_ + (color_ == ImageColor::Bgr ? channels_ - 1 - c : c);
        store(out, channels_first_ ? c * area + pixel : pixel * channels_ + c, image.values[from], c);
      }
    }
    return tensor;
  }

  // Mean and scale belong to the channels of the input, so after the colours were swapped.
  void store(std::byte* out, std::size_t at, std::uint8_t value, std::size_t channel) const {
    if (input_.dtype == Dtype::UInt8) {
      out[at] = static_cast<std::byte>(value);
      return;
    }
    const float normalised = (static_cast<float>(value) - mean_[channel]) / scale_[channel];
    if (input_.dtype == Dtype::Float32) {
      std::memcpy(out + at * sizeof(float), &normalised, sizeof(float));
    } else {
      const std::uint16_t bits = float16_bits(normalised);
      std::memcpy(out + at * sizeof(bits), &bits, sizeof(bits));
    }
  }

  std::vector<std::filesystem::path> files_;
  std::vector<std::string> skipped_;
  InputInfo input_;
  ImageColor color_ = ImageColor::Rgb;
  std::size_t channels_ = 3;
  std::vector<float> mean_;
  std::vector<float> scale_;
  bool channels_first_ = true;
  ImageGeometry geometry_;
};

bool has_extension(const std::filesystem::path& path, std::span<const std::string_view> extensions) {
  return std::ranges::find(extensions, lower_extension(path)) != extensions.end();
}

// All files with these extensions in a folder and the folders below it, sorted by path. Links to folders are not
// followed.
std::vector<std::filesystem::path> files_below(const std::filesystem::path& folder,
                                               std::span<const std::string_view> extensions) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(
           folder, std::filesystem::directory_options::skip_permission_denied)) {
    if (entry.is_regular_file() && has_extension(entry.path(), extensions)) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.native() < b.native(); });
  return files;
}

}  // namespace

bool is_images(const Location& location) {
  if (location.is_folder) return !files_below(location.path, kExtensions).empty();
  return location.head.starts_with("\xFF\xD8\xFF") || location.head.starts_with("\x89PNG") ||
         location.head.starts_with("GIF8") || location.head.starts_with("BM") ||
         has_extension(location.path, kExtensions);
}

std::unique_ptr<ArrayReader> open_images(const OpenRequest& request) {
  const Location& location = request.location;
  if (!location.is_folder) {
    return std::make_unique<ImageReader>(std::vector{location.path}, std::vector<std::string>{}, request);
  }
  std::vector<std::string> skipped;
  for (const auto& file : files_below(location.path, kUnreadExtensions)) skipped.push_back(file.string());
  return std::make_unique<ImageReader>(files_below(location.path, kExtensions), std::move(skipped), request);
}

}  // namespace vernier
