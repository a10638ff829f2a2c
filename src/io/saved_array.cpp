#include "io/saved_array.h"

#include <fmt/format.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/base64.h"
#include "io/npy.h"
#include "json/json.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {
namespace {

// The text without JSON's escapes. Python writes none into Base64; other writers may escape slashes.
std::string unescaped(std::string_view text) {
  const std::optional<Json> value = try_parse_json(fmt::format("\"{}\"", text));
  return value && value->is_text() ? value->text() : std::string();
}

// The oldest versions wrote an array's bytes as one character each, U+0000 to U+00FF. Empty when it is not that.
std::vector<std::byte> latin1_bytes(std::string_view text) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x80) {
      bytes.push_back(std::byte{byte});
    } else if ((byte == 0xC2 || byte == 0xC3) && i + 1 < text.size()) {
      bytes.push_back(static_cast<std::byte>((byte & 3U) << 6U | (static_cast<unsigned char>(text[++i]) & 0x3FU)));
    } else {
      return {};
    }
  }
  return bytes;
}

struct Bytes {
  std::shared_ptr<const void> owner;
  std::span<const std::byte> bytes;
};

std::optional<Bytes> decoded(std::string_view text) {
  const auto size = base64_decoded_size(text);
  if (!size || *size == 0) return std::nullopt;
  const auto buffer = std::make_shared_for_overwrite<std::byte[]>(*size);
  if (!decode_base64(text, {buffer.get(), *size})) return std::nullopt;
  return Bytes{buffer, {buffer.get(), *size}};
}

std::optional<Bytes> decoded_from_old_forms(std::string_view text) {
  const std::string plain = unescaped(text);
  if (auto bytes = decoded(plain)) return bytes;
  const auto raw = std::make_shared<const std::vector<std::byte>>(latin1_bytes(plain));
  if (raw->empty() || raw->front() != std::byte{0x93}) return std::nullopt;
  return Bytes{raw, *raw};
}

}  // namespace

Tensor read_saved_array(const MappedFile& file, const SavedArray& range, const std::string& where) {
  // The file may have become another one since it was indexed.
  if (range.end > file.bytes().size())
    throw Error(ErrorCode::SampleFile, fmt::format("{}: the file has changed", where));
  const auto* start = reinterpret_cast<const char*>(file.bytes().data());
  const std::string_view text(start + range.first, range.end - range.first);
  std::optional<Bytes> found = decoded(text);
  if (!found) found = decoded_from_old_forms(text);
  if (!found) throw Error(ErrorCode::SampleFile, fmt::format("{}: is not Base64", where));
  return read_npy(found->bytes, found->owner, where);
}

}  // namespace vernier
