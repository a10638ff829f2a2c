// What has to wait until it is its turn in a file, kept on disk: a temporary file without a name, in the folder where
// the file will be, so that a disk large enough for the file is large enough for this too. Gone when the process ends.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "io/json_text.h"

namespace vernier {

class Spool {
 public:
  /// `target`: the file that it is for, which errors name. Errors of all functions: Input, with the system's reason.
  Spool(const std::filesystem::path& folder, std::filesystem::path target);
  ~Spool();
  Spool(Spool&& other) noexcept;
  Spool& operator=(Spool&&) = delete;

  std::uint64_t size() const noexcept { return size_; }
  void append(std::string_view text);
  TextSink sink();
  /// Fills `out` from `from`; both lie within size().
  void read(std::uint64_t from, std::span<char> out) const;
  void copy(std::uint64_t from, std::uint64_t count, const TextSink& out) const;
  /// Gives the space back.
  void clear();

 private:
  int fd_ = -1;
  std::uint64_t size_ = 0;
  std::filesystem::path target_;
};

/// The folder that a file of this path lies in.
std::filesystem::path folder_of(const std::filesystem::path& path);

}  // namespace vernier
