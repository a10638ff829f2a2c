// A file mapped read-only into memory: its pages come and go with the system's cache, so a large file costs no memory
// of ours. Not for files that another program truncates meanwhile: reading a page that is gone ends the process.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

namespace vernier {

class MappedFile {
 public:
  /// Errors: Input when `path` is no regular file, cannot be read, or is empty.
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path);
  /// What an open file holds now; `name` is for messages. Errors: as above.
  static std::shared_ptr<const MappedFile> of(int descriptor, const std::filesystem::path& name);

  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  /// Readable zero bytes behind bytes(): vectorized parsers read ahead without looking where the end is.
  static constexpr std::size_t kPadding = 64;

  std::span<const std::byte> bytes() const noexcept { return {first_, size_}; }

  /// Takes the pages of `part` (of bytes()) off this process's resident memory. They can be read again, from the
  /// system's cache.
  void forget(std::span<const std::byte> part) const noexcept;

 private:
  MappedFile(const std::byte* first, std::size_t size, std::size_t mapped)
      : first_(first), size_(size), mapped_(mapped) {}
  const std::byte* first_;
  std::size_t size_;
  std::size_t mapped_;  // with the padding
};

}  // namespace vernier
