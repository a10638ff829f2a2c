#include "io/decode_image.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "io/encode_image.h"
#include "vernier/error.h"

namespace vernier {
namespace {

TEST(DecodeImage, OneChangedByteOfAPngIsFound) {
  Pixels pixels{8, 8, 3, {}};
  for (std::size_t i = 0; i < std::size_t{8} * 8 * 3; ++i) pixels.values.push_back(static_cast<std::uint8_t>(i * 37));
  const std::vector<std::byte> intact = encode_png(pixels);
  EXPECT_EQ(decode_rgb(intact, "a.png").values, pixels.values);
  for (std::size_t at = 8; at < intact.size(); ++at) {
    std::vector<std::byte> changed = intact;
    changed[at] ^= std::byte{1};
    try {
      EXPECT_EQ(decode_rgb(changed, "a.png").values, pixels.values) << "byte " << at;  // behind the end of the image
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::Input);
    }
  }
}

}  // namespace
}  // namespace vernier
