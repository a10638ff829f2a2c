#include "base/refuse.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "base/text.h"
#include "vernier/error.h"

namespace vernier {

void refuse(const std::string& where, const std::string& why, std::string hint) {
  throw Error(ErrorKind::Input, fmt::format("{}: {}", where, why), std::move(hint));
}

void refuse(const std::filesystem::path& path, const std::string& why, std::string hint) {
  refuse(printable(path.string()), why, std::move(hint));
}

bool lacks_descriptors(int error) { return error == EMFILE || error == ENFILE; }

void refuse_for_errno(const std::filesystem::path& path, const char* what, int error) {
  if (error == ENOMEM) throw std::bad_alloc();
  const std::string text = fmt::format("{}: {}: {}", printable(path.string()), what, std::strerror(error));
  if (!lacks_descriptors(error)) throw Error(ErrorKind::Input, text);
  throw Error(ErrorKind::Backend, text, "the shell's ulimit sets how many files a process may open");
}

Error placed(const std::string& place, const Error& error) {
  if (error.kind() == ErrorKind::Interrupted) return error;
  return Error(error.kind(), fmt::format("{}: {}", place, error.what()), error.hint());
}

}  // namespace vernier
