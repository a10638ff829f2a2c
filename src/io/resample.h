// Bilinear resizing of 8-bit images as Pillow's Image.resize(..., BILINEAR) does it: a triangle filter that widens with
// the reduction (antialiasing), horizontally and then vertically, rounded to 8 bits in between. Networks were trained
// and are evaluated on such images. Equal to the last bit to Pillow before version 13; since then Pillow goes
// vertically first where the height shrinks by more than twice what the width does, which moves some pixels by one
// step. stb_image_resize is not used: its filters and its edge and rounding rules differ, and a difference of a few
// 8-bit steps in every pixel would be measured as if it were the network's.
#pragma once

#include <cstdint>
#include <vector>

namespace vernier {

/// 8-bit pixels, row by row, channels interleaved.
struct Pixels {
  int width = 0;
  int height = 0;
  int channels = 0;
  std::vector<std::uint8_t> values;
};

/// A rectangle of the resized image; only these pixels are computed.
struct Window {
  int left = 0;
  int top = 0;
  int width = 0;
  int height = 0;
};

/// `image` resized to `width` x `height`, of which `window` is returned.
///
///   out[x] = sum_i k((i + 0.5 - c) / s) in[i] / sum_i k(..),  c = (x + 0.5) in_size / out_size,  s = max(1, in_size /
///   out_size), k(t) = max(0, 1 - |t|), in fixed point with 22 fractional bits
///
/// Shapes: window inside width x height, all sizes >= 1.
/// Errors: Internal when they are not.
/// Cost:   O(window * (reduction + 1)) per axis.
/// Source: Pillow, src/libImaging/Resample.c.
Pixels resize_bilinear(const Pixels& image, int width, int height, const Window& window);

}  // namespace vernier
