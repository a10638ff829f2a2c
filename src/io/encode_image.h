// A small picture as PNG, through stb_image_write.
#pragma once

#include <cstddef>
#include <vector>

#include "io/resample.h"

namespace vernier {

/// One channel or three. Errors: Internal for others.
std::vector<std::byte> encode_png(const Pixels& pixels);

}  // namespace vernier
