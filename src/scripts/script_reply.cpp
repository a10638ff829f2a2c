#include "scripts/script_reply.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {

ScriptReply::ScriptReply() {
  if (::pipe2(ends_.data(), O_CLOEXEC) != 0) {
    throw Error(ErrorCode::SystemLimit, fmt::format("no pipe can be made: {}", std::strerror(errno)));
  }
}

ScriptReply::~ScriptReply() {
  for (const int fd : ends_) ::close(fd);
}

void ScriptReply::send(const ScratchFile& scratch, const std::string& text) const {
  const off_t offset = ::lseek(scratch.descriptor(), 0, SEEK_CUR);
  scratch.write(text);
  const std::string line = fmt::format("{} {}\n", offset, text.size());
  // Shorter than what a pipe holds.
  if (::write(ends_[1], line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    throw Error(ErrorCode::SystemLimit, fmt::format("a script cannot be answered: {}", std::strerror(errno)));
  }
}

}  // namespace vernier
