// How a photograph of any size becomes the rectangle a network takes: the --image words.
#pragma once

#include <string_view>

#include "io/resample.h"

namespace vernier {

struct ImageGeometry {
  enum class Kind { ShortCrop, Stretch, Letterbox, Height };
  Kind kind = Kind::Stretch;
  int width = 0;   // ShortCrop: side of the crop; Letterbox: side of the square; Stretch: width
  int height = 0;  // Stretch, Height
  int short_side = 0;
  int pad = 114;            // Letterbox: the 8-bit value around the picture; 114 is the detectors' habit
  bool is_centered = true;  // Letterbox: false puts the picture top left
};

/// Reads "short-crop:256,224", "stretch:WxH", "letterbox:SIZE[,pad=114,center|topleft]" (default: pad=114, center),
/// "height:32". Sizes are 1 to 16384.
/// Errors: Usage, naming the part that is wrong.
ImageGeometry parse_image_geometry(std::string_view text);

/// `image` brought into shape. Sizes in between are rounded as Python's round() does, half to even, except in
/// ShortCrop:
///   ShortCrop  the short side becomes short_side, then the middle width x width is taken, as torchvision's Resize and
///              CenterCrop do: the long side drops its fraction
///   Stretch    width x height
///   Letterbox  the long side becomes width, the rest of the square is `pad`
///   Height     that height, the width in proportion, at least 8
/// Errors: Input, starting with `where`, when the image is so narrow that the result would be over 16384 wide.
Pixels shape_image(const Pixels& image, const ImageGeometry& geometry, std::string_view where);

}  // namespace vernier
