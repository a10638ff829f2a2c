#include "base/refuse.h"

#include <fmt/format.h>

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

Error placed(const std::string& place, const Error& error) {
  if (error.kind() == ErrorKind::Interrupted) return error;
  return Error(error.kind(), fmt::format("{}: {}", place, error.what()), error.hint());
}

}  // namespace vernier
