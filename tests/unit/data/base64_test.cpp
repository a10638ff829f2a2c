#include "data/base64.h"

#include <gtest/gtest.h>

#include <string>

namespace vernier {
namespace {

std::string decoded(std::string_view text) {
  const auto bytes = decode_base64(text);
  if (!bytes) return "<invalid>";
  return {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
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

TEST(Base64, RefusesWhatPythonsStrictDecoderRefuses) {
  for (const char* text : {"Zg", "Zg=", "Z===", "====", "Zg==Zg==", "Zm 9v", "Zm9-", "Zm9v\n", "=m9v"}) {
    EXPECT_EQ(decoded(text), "<invalid>") << text;
  }
}

}  // namespace
}  // namespace vernier
