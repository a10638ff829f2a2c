// Photographs from files: JPEG, PNG, BMP, GIF (first frame), PNM, TGA, PSD, through stb_image. Eight bits a channel;
// alpha is dropped; the EXIF orientation is NOT applied, as most training pipelines do not. JPEG decoders differ by a
// step or two.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "io/resample.h"

namespace vernier {

/// The RGB pixels (three channels) of the image in `file`.
/// Errors: Input, starting with `where`, when it cannot be decoded or has more than 179 million pixels (Pillow's
/// limit).
Pixels decode_rgb(std::span<const std::byte> file, const std::string& where);

/// One channel, ITU-R 601 luma, with the fixed-point table of Pillow's convert("YCbCr").
Pixels luma_of(const Pixels& rgb);

}  // namespace vernier
