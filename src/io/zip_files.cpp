#include "io/zip_files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {
namespace {

constexpr time_t kDate = 315532800;  // 1980-01-01, the first day that zip archives know

}  // namespace

NewZip::NewZip(std::filesystem::path path)
    : path_(std::move(path)),
      in_place_(is_written_in_place(path_)),
      temporary_(temporary_name(in_place_ ? std::filesystem::temp_directory_path() / "vernier.zip" : path_)) {
  std::error_code ignored;  // what is wrong is said when the archive is opened
  if (!in_place_) std::filesystem::create_directories(std::filesystem::absolute(path_, ignored).parent_path(), ignored);
  int code = 0;
  archive_.reset(zip_open(temporary_.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code));
  if (archive_) return;
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  refuse(zip_error_strerror(&error));
}

std::uint64_t NewZip::add(const std::string& name, zip_source_t* source) {
  // Told that a name is UTF-8, libzip refuses control characters; left to guess, it keeps the bytes of any name.
  const zip_int64_t index =
      source == nullptr ? -1 : zip_file_add(archive_.get(), name.c_str(), source, ZIP_FL_ENC_GUESS);
  if (index < 0) {
    zip_source_free(source);
    refuse(zip_strerror(archive_.get()));
  }
  return static_cast<std::uint64_t>(index);
}

void NewZip::commit() {
  if (zip_close(archive_.get()) != 0) refuse(zip_strerror(archive_.get()));
  archive_.release();  // closed
  std::error_code error;
  if (in_place_) {
    std::ofstream(path_, std::ios::binary) << std::ifstream(temporary_, std::ios::binary).rdbuf();
    std::filesystem::remove(temporary_, error);
  } else {
    std::filesystem::rename(temporary_, path_, error);
  }
  if (error) refuse(error.message().c_str());
}

void NewZip::refuse(const char* why) const {
  throw Error(ErrorCode::FileUnwritable, fmt::format("{}: cannot write: {}", printable(path_.string()), why));
}

void write_zip(const std::filesystem::path& path, const std::vector<ZippedFile>& files) {
  NewZip zip(path);
  for (const ZippedFile& file : files) {
    const std::uint64_t index = zip.add(file.name, zip_source_file(zip.archive(), file.path.c_str(), 0, -1));
    zip_file_set_mtime(zip.archive(), index, kDate, 0);
  }
  zip.commit();
}

}  // namespace vernier
