// A file without a name, for what is too large for memory: it is gone when the last process that has it open ends,
// however that happens, so nothing needs to be cleaned up.
#pragma once

#include <filesystem>
#include <string_view>

namespace vernier {

class ScratchFile {
 public:
  /// In $TMPDIR, else /tmp; readable by this user only.
  /// Errors: Input, naming the folder and the system's reason.
  ScratchFile();
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  /// Appends. Errors: as above.
  void write(std::string_view bytes) const;

  int descriptor() const noexcept { return descriptor_; }
  const std::filesystem::path& folder() const noexcept { return folder_; }

 private:
  std::filesystem::path folder_;
  int descriptor_ = -1;
};

}  // namespace vernier
