// A folder with one file an iteration, 0000000000.json and on: the form for what does not fit into one file. It appears
// under its name when it is complete.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>

#include "io/json_text.h"

namespace vernier {

/// Whether a path to be written means such a folder: it is one, or has no extension and is no file that is there (as
/// scripts make with mktemp).
bool names_a_folder(const std::filesystem::path& path);

class IterationFolder {
 public:
  /// Errors: Input when a device or a folder with content is there, or the disk refuses; also from add() and commit().
  explicit IterationFolder(std::filesystem::path path);
  ~IterationFolder();
  IterationFolder(const IterationFolder&) = delete;
  IterationFolder& operator=(const IterationFolder&) = delete;

  /// A folder on the same disk, for temporary files.
  const std::filesystem::path& temporary() const noexcept { return temporary_; }
  void add(const std::function<void(const TextSink&)>& write);
  void commit();

 private:
  std::filesystem::path path_, temporary_;
  bool exists_ = false;  // before us
  std::size_t count_ = 0;
};

}  // namespace vernier
