#include "base/scratch_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/refuse.h"
#include "base/text.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {

ScratchFile::ScratchFile() {
  const char* wanted = std::getenv("TMPDIR");
  folder_ = wanted != nullptr && *wanted != '\0' ? wanted : "/tmp";
  std::string name = (folder_ / "vernier_XXXXXX").string();
  descriptor_ = ::mkostemp(name.data(), O_CLOEXEC);
  if (descriptor_ < 0 && lacks_descriptors(errno)) refuse_for_errno(folder_, "no temporary file can be made", errno);
  if (descriptor_ < 0) {
    throw Error(ErrorCode::FileUnwritable,
                fmt::format("{}: cannot create a temporary file in this folder: {}", printable(folder_.string()),
                            std::strerror(errno)),
                "TMPDIR chooses another folder");
  }
  ::unlink(name.c_str());
}

void ScratchFile::write(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      throw Error(ErrorCode::FileUnwritable,
                  fmt::format("{}: cannot write a temporary file in this folder: {}", printable(folder_.string()),
                              std::strerror(errno)),
                  "TMPDIR chooses another folder");
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

ScratchFile::~ScratchFile() { ::close(descriptor_); }

}  // namespace vernier
