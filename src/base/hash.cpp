#include "base/hash.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>

#include "vernier/error.h"

namespace vernier {

struct Sha256::State {
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context{EVP_MD_CTX_new(), EVP_MD_CTX_free};
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  if (EVP_DigestInit_ex(state_->context.get(), EVP_sha256(), nullptr) != 1) {
    throw Error(ErrorKind::Internal, "cannot start a SHA-256 digest");
  }
}

Sha256::~Sha256() = default;

void Sha256::update(std::span<const std::byte> bytes) {
  EVP_DigestUpdate(state_->context.get(), bytes.data(), bytes.size());
}

namespace {

using DigestBytes = std::array<unsigned char, EVP_MAX_MD_SIZE>;

std::string hex_of(const DigestBytes& digest, unsigned int length) {
  std::string text;
  for (unsigned int i = 0; i < length; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

std::string ended(EVP_MD_CTX* context) {
  DigestBytes digest{};
  unsigned int length = 0;
  EVP_DigestFinal_ex(context, digest.data(), &length);
  return hex_of(digest, length);
}

}  // namespace

std::string Sha256::hex() { return ended(state_->context.get()); }

std::string Sha256::hex_so_far() const {
  const State copy;
  EVP_MD_CTX_copy_ex(copy.context.get(), state_->context.get());
  return ended(copy.context.get());
}

std::string sha256_of(std::string_view bytes) {
  Sha256 hash;
  hash.update(std::as_bytes(std::span(bytes)));
  return hash.hex();
}

std::string sha1_of(std::span<const std::byte> bytes) {
  DigestBytes digest{};
  unsigned int length = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &length, EVP_sha1(), nullptr) != 1) {
    throw Error(ErrorKind::Internal, "cannot compute a SHA-1 digest");
  }
  return hex_of(digest, length);
}

}  // namespace vernier
