#include "base/refuse.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "base/text.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {

void refuse(ErrorCode code, const std::string& where, const std::string& why, std::string hint) {
  throw Error(code, fmt::format("{}: {}", where, why), std::move(hint)).about("", why);
}

void refuse(ErrorCode code, const std::filesystem::path& path, const std::string& why, std::string hint) {
  refuse(code, printable(path.string()), why, std::move(hint));
}

ErrorCode code_of_reading(int error) { return error == ENOENT ? ErrorCode::FileMissing : ErrorCode::FileUnreadable; }

bool lacks_descriptors(int error) { return error == EMFILE || error == ENFILE; }

void refuse_for_errno(const std::filesystem::path& path, const char* what, int error) {
  if (error == ENOMEM) throw std::bad_alloc();
  const std::string text = fmt::format("{}: {}: {}", printable(path.string()), what, std::strerror(error));
  if (!lacks_descriptors(error)) throw Error(code_of_reading(error), text);
  throw Error(ErrorCode::SystemLimit, text, "the shell's ulimit sets how many files a process may open");
}

Error placed(const std::string& place, const Error& error) {
  if (error.kind() == ErrorKind::Interrupted) return error;
  return Error(error.code(), fmt::format("{}: {}", place, error.what()), error.hint())
      .about(error.node(), error.reason());
}

std::string reason_with_node(const Error& error) {
  return error.node().empty() ? error.reason() : fmt::format("node '{}': {}", printable(error.node()), error.reason());
}

}  // namespace vernier
