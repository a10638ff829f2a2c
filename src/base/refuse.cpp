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

}  // namespace vernier
