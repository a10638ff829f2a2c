#include "base/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <string>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/hash.h"

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

std::optional<Descriptor> hold_name(const std::filesystem::path& file) {
  Descriptor held(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (held.empty()) return held;
  std::error_code unknown;
  std::filesystem::path whole = std::filesystem::weakly_canonical(std::filesystem::absolute(file, unknown), unknown);
  // An abstract name (unix(7)): it begins with a zero byte and is free again when the process ends.
  const std::string name = "vernier-" + sha256_of(whole.string());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  static_assert(sizeof(address.sun_path) > 1 + 8 + 64);
  name.copy(&address.sun_path[1], name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (::bind(held.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0) return held;
  if (errno == EADDRINUSE) return std::nullopt;
  return Descriptor();
}

FileLock::~FileLock() {
  struct stat held {};
  if (file_.empty() || ::fstat(file_.get(), &held) != 0 || held.st_size != 0 || !is_current()) return;
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

}  // namespace vernier
