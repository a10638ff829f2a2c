// How often this process opened a file: what a job reads once is opened once.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace vernier::testing {

/// Counts from its making on, by Linux's inotify: nothing in the code that is tested knows of it.
class OpenedFile {
 public:
  /// The file itself may come later, and be replaced. Errors: std::system_error where its folder cannot be watched.
  explicit OpenedFile(const std::filesystem::path& path);
  ~OpenedFile();
  OpenedFile(const OpenedFile&) = delete;
  OpenedFile& operator=(const OpenedFile&) = delete;

  /// How often the file was opened so far. Opens of other processes count too.
  std::size_t times();

 private:
  std::string name_;
  int descriptor_;
  std::size_t times_ = 0;
};

}  // namespace vernier::testing
