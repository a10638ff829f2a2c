// Turns for processes that read a file, change it and replace it.
#pragma once

#include <filesystem>
#include <optional>

#include "base/descriptor.h"

namespace vernier {

/// Waits until no other process holds `path` this way, then holds it for as long as this lives. A file that is missing
/// is made, empty, and removed at the end if it is still empty. The file may be replaced meanwhile (replace_file).
/// Devices and pipes, and files on a disk without locks, are not held. Errors: none; whoever writes says what is wrong.
class FileLock {
 public:
  explicit FileLock(std::filesystem::path path);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  bool is_current() const;
  std::filesystem::path path_;
  Descriptor file_;
};

/// Holds the name of a file that comes and goes, for as long as what is returned lives; the file need not be there, and
/// nothing is left behind. Among the processes of one machine. nullopt: another process holds it. Empty where the
/// system has no such names.
std::optional<Descriptor> hold_name(const std::filesystem::path& file);

}  // namespace vernier
