#include "base/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/file.h"

namespace vernier {

FileLock::FileLock(std::filesystem::path path) : path_(std::move(path)) {
  if (is_written_in_place(path_)) return;
  std::error_code ignored;
  if (path_.has_parent_path()) std::filesystem::create_directories(path_.parent_path(), ignored);
  // Who waited may hold a file that was replaced: then the turn is for the new one.
  do {
    file_ = Descriptor(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666));
    if (file_.empty()) return;
    while (::flock(file_.get(), LOCK_EX) != 0) {
      if (errno != EINTR) return;
    }
  } while (!is_current());
}

bool FileLock::is_current() const {
  struct stat held {};
  struct stat named {};
  if (::fstat(file_.get(), &held) != 0 || ::stat(path_.c_str(), &named) != 0) return false;
  return held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

FileLock::~FileLock() {
  struct stat held {};
  if (file_.empty() || ::fstat(file_.get(), &held) != 0 || held.st_size != 0 || !is_current()) return;
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

}  // namespace vernier
