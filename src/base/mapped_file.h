// A file mapped read-only into memory: its pages come and go with the system's cache, so a large file costs no memory
// of ours. When another program makes the file shorter meanwhile, the system answers the next read of a page that is
// gone with SIGBUS. The program's handler asks mapped_file_at() which file that was.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

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
  MappedFile(const std::byte* first, std::size_t size, std::size_t mapped, const std::filesystem::path& path);
  const std::byte* first_;
  std::size_t size_;
  std::size_t mapped_;  // with the padding
  std::string name_;    // printable
  int place_ = -1;      // in the table behind mapped_file_at()
};

/// The printable name of the file that is mapped at `address`. Null: none, or more are mapped than are remembered.
/// Signal handlers may call it.
const char* mapped_file_at(const void* address) noexcept;

}  // namespace vernier
