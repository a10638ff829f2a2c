#include "io/iteration_folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/refuse.h"
#include "base/text.h"
#include "vernier/error_code.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

std::string file_name(std::size_t iteration) { return fmt::format("{:010}.json", iteration); }

// "results/" is the folder "results", and a link is what it points to: a temporary folder beside it can be renamed to
// it.
fs::path real_place(fs::path path) {
  if (!path.has_filename()) path = path.parent_path();
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  return error ? path : real;
}

}  // namespace

bool names_a_folder(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_regular_file(path, ignored)) return false;
  return fs::is_directory(path, ignored) || !path.has_filename() || !path.has_extension();
}

IterationFolder::IterationFolder(fs::path path) : path_(real_place(std::move(path))) {
  std::error_code error;
  if (fs::exists(path_, error) && !fs::is_directory(path_, error)) {
    refuse(ErrorCode::FileUnwritable, path_, "is neither a file nor a folder",
           "give a name with extension to write one file: .json");
  }
  if (fs::is_directory(path_, error) && !fs::is_empty(path_, error)) {
    refuse(ErrorCode::FileUnwritable, path_, "is a folder with something in it: nothing there is overwritten",
           "name a new or an empty folder");
  }
  // Inside a folder that exists: it may be a mount point, which no other folder can take the place of.
  exists_ = fs::is_directory(path_, error);
  // Without a name before it: hidden.
  temporary_ = temporary_name(exists_ ? path_ / "" : path_);
  fs::create_directories(temporary_, error);
  if (error) refuse(ErrorCode::FileUnwritable, path_, "cannot write: " + error.message());
}

IterationFolder::~IterationFolder() {
  if (temporary_.empty()) return;
  std::error_code ignored;
  fs::remove_all(temporary_, ignored);
}

void IterationFolder::add(const std::function<void(const TextSink&)>& write) {
  NewFile file(temporary_ / file_name(count_));
  write([&file](std::string_view text) { file.write(text); });
  file.commit();
  ++count_;
}

void IterationFolder::commit() {
  std::error_code error;
  if (exists_) {
    for (std::size_t i = 0; i < count_ && !error; ++i) {
      const std::string name = file_name(i);
      fs::rename(temporary_ / name, path_ / name, error);
    }
    if (!error) fs::remove(temporary_, error);
  } else {
    fs::rename(temporary_, path_, error);
  }
  if (error) refuse(ErrorCode::FileUnwritable, path_, "cannot write: " + error.message());
  temporary_.clear();
}

}  // namespace vernier
