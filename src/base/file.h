// Files that are either whole or not there.
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>

namespace vernier {

/// A file that appears under its name when it is complete: until commit() it is written to a temporary name in the same
/// folder, which is removed when there is no commit(). All errors: Input, with the system's reason.
class NewFile {
 public:
  /// From now on the new files of this process come to nothing: of several that do the same work one writes.
  static void discard_all();

  explicit NewFile(std::filesystem::path path);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  std::ostream& stream() { return out_; }
  /// To the stream, checked at once: hours of results must not be computed for a disk that is full.
  void write(std::string_view text);
  void commit();

 private:
  [[noreturn]] void refuse();
  std::filesystem::path path_, temporary_;
  std::ofstream out_;
};

/// Writes to a temporary name in the same folder, flushes, then renames over `path`. The temporary file is removed when
/// `write` throws. Errors: Input when a folder is missing or the disk refuses, with the system's reason.
void replace_file(const std::filesystem::path& path, const std::function<void(std::ostream&)>& write);
void replace_file(const std::filesystem::path& path, const std::string& text);

/// The whole file. Errors: Input when it cannot be read or is larger than `limit` bytes.
std::string read_text(const std::filesystem::path& path, std::size_t limit = std::size_t{1} << 30U);

}  // namespace vernier
