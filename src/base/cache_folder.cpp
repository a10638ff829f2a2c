#include "base/cache_folder.h"

#include <cstdlib>

namespace vernier {
namespace {

std::filesystem::path folder_in(const char* variable) {
  const char* value = std::getenv(variable);
  const std::filesystem::path folder = value != nullptr ? value : "";
  return folder.is_absolute() ? folder : std::filesystem::path();
}

}  // namespace

std::filesystem::path cache_folder() {
  if (const std::filesystem::path given = folder_in("XDG_CACHE_HOME"); !given.empty()) return given / "vernier";
  const std::filesystem::path home = folder_in("HOME");
  return home.empty() ? home : home / ".cache" / "vernier";
}

}  // namespace vernier
