// Files that are either whole or not there.
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>

#include "base/descriptor.h"

namespace vernier {

/// A file that appears under its name when it is complete: until commit() it has no name, so that nothing is left when
/// the process is killed. Where the file system has no such files it has a temporary name in the same folder, which is
/// removed when there is no commit(). Links are followed; devices, pipes and sockets are written to, never replaced.
/// A file that is empty is filled, not replaced: who made it (mktemp) may hold it open, and chose its permissions.
/// Folders around it that are missing are made. All errors: Input, with the system's reason.
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
  void open();
  void fill();
  std::filesystem::path path_, temporary_;  // the latter empty: there is none to be removed
  Descriptor nameless_;
  std::ofstream out_;
  bool in_place_ = false;  // written where it stands
};

/// A NewFile that `write` fills; nothing is there when it throws. Errors: Input when a folder is missing or the disk
/// refuses, with the system's reason.
void replace_file(const std::filesystem::path& path, const std::function<void(std::ostream&)>& write);
void replace_file(const std::filesystem::path& path, const std::string& text);

/// The same for a file that nobody chose, in a cache: a device or a pipe in its place is refused, and never opened.
/// Errors: Input.
void replace_regular_file(const std::filesystem::path& path, const std::function<void(std::ostream&)>& write);

/// What is no file among files: a device, a pipe, a socket; and all that a descriptor's name in /dev or /proc leads to.
bool is_written_in_place(const std::filesystem::path& path);

/// `path` plus this process's number and .tmp, for a file that gets its name when it is complete. What processes that
/// are gone have left beside it under such names is removed.
std::filesystem::path temporary_name(const std::filesystem::path& path);

/// For reading. Errors: Input: cannot be read, with the system's reason; a folder; a pipe or a socket, which could not
/// be read a second time, and opening one that nobody writes to would not end.
std::ifstream open_input(const std::filesystem::path& path);
void require_no_pipe(const std::filesystem::path& path);  // for libraries that open by name

/// The whole file. Errors: Input when it cannot be read or is larger than `limit` bytes.
std::string read_text(const std::filesystem::path& path, std::size_t limit = std::size_t{1} << 30U);

}  // namespace vernier
