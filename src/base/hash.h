// Digests of files: SHA-256 for the record of what was measured, SHA-1 where a file carries one.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace vernier {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  void update(std::span<const std::byte> bytes);
  /// Lower-case hexadecimal digest; ends the computation.
  std::string hex();
  /// That of what was added so far; goes on.
  std::string hex_so_far() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Of bytes that are all there.
std::string sha256_of(std::string_view bytes);

/// SHA-1, which ONNX files name their external data by. It tells a damaged file from an intact one, and no more.
std::string sha1_of(std::span<const std::byte> bytes);

}  // namespace vernier
