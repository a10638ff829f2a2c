#include "base/cache_folder.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <system_error>
#include <vector>

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

void remove_least_used(const std::filesystem::path& folder, std::string_view extension, std::size_t most_bytes) {
  struct File {
    std::filesystem::path path;
    std::filesystem::file_time_type used;
    std::size_t bytes = 0;
  };
  std::error_code error;
  std::vector<File> files;
  for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() != extension) continue;
    std::error_code gone;
    files.push_back({entry.path(), entry.last_write_time(gone), static_cast<std::size_t>(entry.file_size(gone))});
    if (gone) files.pop_back();
  }
  std::ranges::sort(files, std::greater(), &File::used);
  std::size_t sum = 0;
  for (const File& file : files) {
    sum += file.bytes;
    if (sum > most_bytes) std::filesystem::remove(file.path, error);
  }
}

}  // namespace vernier
