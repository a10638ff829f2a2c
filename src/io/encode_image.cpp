#include "io/encode_image.h"

#include <span>

#include "vernier/error.h"

// The only translation unit that sees stb's writer. Its own functions stay private to it.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#define STB_IMAGE_WRITE_STATIC
#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STBI_WRITE_NO_STDIO
#include <stb_image_write.h>
#pragma GCC diagnostic pop

namespace vernier {

std::vector<std::byte> encode_png(const Pixels& pixels) {
  std::vector<std::byte> file;
  const auto append = [](void* to, void* data, int size) {
    const std::span<const std::byte> bytes(static_cast<const std::byte*>(data), static_cast<std::size_t>(size));
    static_cast<std::vector<std::byte>*>(to)->insert(static_cast<std::vector<std::byte>*>(to)->end(), bytes.begin(),
                                                     bytes.end());
  };
  const bool takes = pixels.channels == 1 || pixels.channels == 3;
  if (!takes || stbi_write_png_to_func(append, &file, pixels.width, pixels.height, pixels.channels,
                                       pixels.values.data(), pixels.width * pixels.channels) == 0) {
    throw Error(ErrorKind::Internal, "a picture cannot be written as PNG");
  }
  return file;
}

}  // namespace vernier
