// Zip archives that are whole or not there.
#pragma once

#include <zip.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace vernier {

/// An archive that takes the place of `path` on commit(). All errors: Input, with libzip's reason.
class NewZip {
 public:
  explicit NewZip(std::filesystem::path path);

  zip_t* archive() const noexcept { return archive_.get(); }
  /// Takes `source` (null: libzip could not make it), read on commit(). The bytes of any name are kept. Gives the
  /// member's number.
  std::uint64_t add(const std::string& name, zip_source_t* source);
  void commit();

 private:
  struct Discard {
    void operator()(zip_t* archive) const noexcept { zip_discard(archive); }
  };
  [[noreturn]] void refuse(const char* why) const;

  std::filesystem::path path_;
  bool in_place_;  // a device or a pipe: the whole archive is copied there at the end
  std::filesystem::path temporary_;
  std::unique_ptr<zip_t, Discard> archive_;
};

struct ZippedFile {
  std::string name;  // in the archive
  std::filesystem::path path;
};

/// The same files give the same bytes: every member has the same date. Errors: as NewZip.
void write_zip(const std::filesystem::path& path, const std::vector<ZippedFile>& files);

}  // namespace vernier
