#include "opened_files.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace vernier::testing {

OpenedFile::OpenedFile(const std::filesystem::path& path)
    : name_(path.filename().string()), descriptor_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
  const std::string folder = path.parent_path().string();
  // With the closes between them: equal events in a row are reported as one.
  if (descriptor_ < 0 || ::inotify_add_watch(descriptor_, folder.c_str(), IN_OPEN | IN_CLOSE) < 0) {
    throw std::system_error(errno, std::generic_category(), folder);
  }
}

OpenedFile::~OpenedFile() { ::close(descriptor_); }

std::size_t OpenedFile::times() {
  std::array<char, 4096> events{};
  for (ssize_t size = 0; (size = ::read(descriptor_, events.data(), events.size())) > 0;) {
    for (std::size_t at = 0; at < static_cast<std::size_t>(size);) {
      inotify_event event{};
      std::memcpy(&event, events.data() + at, sizeof(event));
      // The name behind an event ends with zeros.
      const char* const name = events.data() + at + sizeof(event);
      if ((event.mask & IN_OPEN) != 0 && event.len > 0 && name_ == name) ++times_;
      at += sizeof(event) + event.len;
    }
  }
  return times_;
}

}  // namespace vernier::testing
