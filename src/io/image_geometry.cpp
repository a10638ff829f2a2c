#include "io/image_geometry.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <system_error>
#include <vector>

#include "base/text.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {
namespace {

constexpr int kLargest = 16384;
// A narrower line of text would vanish in a recogniser's pooling.
constexpr int kNarrowest = 8;

[[noreturn]] void refuse_geometry(std::string_view text, const std::string& why) {
  throw Error(ErrorCode::BadValue, fmt::format("‹image› '{}': {}", printable(text), why),
              "one of short-crop:256,224 | stretch:WxH | letterbox:SIZE[,pad=114,center|topleft] | height:32");
}

int number(std::string_view whole, std::string_view part, int least, int most) {
  int value = 0;
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
  if (error != std::errc() || end != part.data() + part.size() || value < least || value > most) {
    refuse_geometry(whole, fmt::format("'{}' is not a number from {} to {}", printable(part), least, most));
  }
  return value;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// Python's round(): half to even, which is what the default rounding mode of nearbyint does.
double python_round(double value) { return std::nearbyint(value); }

int whole_pixels(double size, std::string_view where) {
  constexpr int kMost = std::numeric_limits<int>::max() / 2;
  if (size > kMost) {
    throw Error(ErrorCode::Image, fmt::format("{}: the image is too narrow to be resized", where));
  }
  return static_cast<int>(std::max(1.0, size));
}

int scaled(double size, std::string_view where) { return whole_pixels(python_round(size), where); }

// torchvision's Resize(short): int(short * long / other), which drops the fraction. Whole numbers up to the division.
int side_beside_short(int short_side, int side, int shorter, std::string_view where) {
  const double product = static_cast<double>(short_side) * side;
  return whole_pixels(std::floor(product / shorter), where);
}

// torchvision's CenterCrop: the first pixel, which Python's round() gives.
int crop_start(int size, int crop) { return static_cast<int>(python_round((size - crop) / 2.0)); }

Pixels letterbox(const Pixels& image, const ImageGeometry& geometry, std::string_view where) {
  const int side = geometry.width;
  const double scale = static_cast<double>(side) / std::max(image.width, image.height);
  const int width = scaled(image.width * scale, where);
  const int height = scaled(image.height * scale, where);
  const Pixels inner = resize_bilinear(image, width, height, {0, 0, width, height});
  const auto channels = static_cast<std::size_t>(image.channels);
  Pixels square{side, side, image.channels, {}};
  square.values.assign(static_cast<std::size_t>(side) * static_cast<std::size_t>(side) * channels,
                       static_cast<std::uint8_t>(geometry.pad));
  const int left = geometry.is_centered ? (side - width) / 2 : 0;
  const int top = geometry.is_centered ? (side - height) / 2 : 0;
  const std::size_t line = static_cast<std::size_t>(width) * channels;
  for (int y = 0; y < height; ++y) {
    const std::size_t to =
        (static_cast<std::size_t>(top + y) * static_cast<std::size_t>(side) + static_cast<std::size_t>(left)) *
        channels;
    std::copy_n(inner.values.data() + static_cast<std::size_t>(y) * line, line, square.values.data() + to);
  }
  return square;
}

}  // namespace

ImageGeometry parse_image_geometry(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) refuse_geometry(text, "a kind and its sizes are needed");
  const std::string_view kind = text.substr(0, colon);
  const std::string_view rest = text.substr(colon + 1);
  ImageGeometry geometry;
  if (kind == "short-crop") {
    const std::vector<std::string_view> parts = split(rest, ',');
    if (parts.size() != 2) refuse_geometry(text, "short-crop takes two sizes");
    geometry.kind = ImageGeometry::Kind::ShortCrop;
    geometry.short_side = number(text, parts[0], 1, kLargest);
    geometry.width = number(text, parts[1], 1, kLargest);
    if (geometry.width > geometry.short_side) refuse_geometry(text, "the crop is larger than the short side");
  } else if (kind == "stretch") {
    const std::vector<std::string_view> parts = split(rest, 'x');
    if (parts.size() != 2) refuse_geometry(text, "stretch takes WxH");
    geometry.kind = ImageGeometry::Kind::Stretch;
    geometry.width = number(text, parts[0], 1, kLargest);
    geometry.height = number(text, parts[1], 1, kLargest);
  } else if (kind == "letterbox") {
    const std::vector<std::string_view> parts = split(rest, ',');
    geometry.kind = ImageGeometry::Kind::Letterbox;
    geometry.width = number(text, parts[0], 1, kLargest);
    for (std::size_t i = 1; i < parts.size(); ++i) {
      if (parts[i].starts_with("pad=")) {
        geometry.pad = number(text, parts[i].substr(4), 0, 255);
      } else if (parts[i] == "center" || parts[i] == "topleft") {
        geometry.is_centered = parts[i] == "center";
      } else {
        refuse_geometry(text,
                        fmt::format("letterbox knows pad=VALUE, center and topleft, not '{}'", printable(parts[i])));
      }
    }
  } else if (kind == "height") {
    geometry.kind = ImageGeometry::Kind::Height;
    geometry.height = number(text, rest, 1, kLargest);
  } else {
    refuse_geometry(text, fmt::format("'{}' is unknown", printable(kind)));
  }
  return geometry;
}

Pixels shape_image(const Pixels& image, const ImageGeometry& geometry, std::string_view where) {
  switch (geometry.kind) {
    case ImageGeometry::Kind::ShortCrop: {
      const int shorter = std::min(image.width, image.height);
      const int width = side_beside_short(geometry.short_side, image.width, shorter, where);
      const int height = side_beside_short(geometry.short_side, image.height, shorter, where);
      const int crop = geometry.width;
      return resize_bilinear(image, width, height, {crop_start(width, crop), crop_start(height, crop), crop, crop});
    }
    case ImageGeometry::Kind::Letterbox:
      return letterbox(image, geometry, where);
    case ImageGeometry::Kind::Height: {
      const int width =
          std::max(kNarrowest, scaled(static_cast<double>(image.width) * geometry.height / image.height, where));
      if (width > kLargest) {
        throw Error(ErrorCode::Image, fmt::format("{}: {} x {} pixels become {} wide at height {}, more than {}", where,
                                                  image.width, image.height, width, geometry.height, kLargest));
      }
      return resize_bilinear(image, width, geometry.height, {0, 0, width, geometry.height});
    }
    case ImageGeometry::Kind::Stretch:
      break;
  }
  return resize_bilinear(image, geometry.width, geometry.height, {0, 0, geometry.width, geometry.height});
}

}  // namespace vernier
