#include "base/base64.h"

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

namespace vernier {
namespace {

std::string decoded(std::string_view text) {
  const auto size = base64_decoded_size(text);
  if (!size) return "<invalid>";
  std::vector<std::byte> bytes(*size);
  if (!decode_base64(text, bytes)) return "<invalid>";
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string encoded(std::string_view bytes) {
  std::string text = ">";  // what is there stays
  append_base64(std::as_bytes(std::span(bytes)), text);
  return text.substr(1);
}

// The vectors of RFC 4648, section 10.
TEST(Base64, DecodesTheVectorsOfItsStandard) {
  EXPECT_EQ(decoded(""), "");
  EXPECT_EQ(decoded("Zg=="), "f");
  EXPECT_EQ(decoded("Zm8="), "fo");
  EXPECT_EQ(decoded("Zm9v"), "foo");
  EXPECT_EQ(decoded("Zm9vYg=="), "foob");
  EXPECT_EQ(decoded("Zm9vYmFy"), "foobar");
  EXPECT_EQ(decoded("k05VTVBZAQB2AHsn").substr(1, 5), "NUMPY");
}

TEST(Base64, EncodesTheVectorsOfItsStandard) {
  EXPECT_EQ(encoded(""), "");
  EXPECT_EQ(encoded("f"), "Zg==");
  EXPECT_EQ(encoded("fo"), "Zm8=");
  EXPECT_EQ(encoded("foo"), "Zm9v");
  EXPECT_EQ(encoded("foobar"), "Zm9vYmFy");
}

TEST(Base64, EveryByteAtEveryPlaceComesBack) {
  std::string bytes;
  for (int shift = 0; shift < 3; ++shift) {
    for (int value = 0; value < 256; ++value) bytes += static_cast<char>(value);
    bytes += 'x';
    EXPECT_EQ(decoded(encoded(bytes)), bytes);
  }
}

TEST(Base64, RefusesWhatPythonsStrictDecoderRefuses) {
  for (const char* text : {"Zg", "Zg=", "Z===", "====", "Zg==Zg==", "Zm 9v", "Zm9-", "Zm9v\n", "=m9v", "Zg==Zm9v",
                           "Zm9vZ=9v", "Zm\xC3\xA4"}) {
    EXPECT_EQ(decoded(text), "<invalid>") << text;
  }
}

}  // namespace
}  // namespace vernier
