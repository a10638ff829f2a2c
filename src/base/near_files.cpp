#include "base/near_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "base/text.h"

namespace vernier {
namespace fs = std::filesystem;
namespace {

// A folder may hold millions.
constexpr std::size_t kMostNames = 10'000;

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (fs::directory_iterator entry(folder, ignored), end; !ignored && entry != end && names.size() < kMostNames;
       entry.increment(ignored)) {
    names.push_back(entry->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

std::string near_files(const fs::path& missing) {
  const fs::path folder = missing.has_parent_path() ? missing.parent_path() : fs::path(".");
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) {
    const std::string above = near_files(folder);
    return above.empty() ? fmt::format("there is no folder {}", printable(folder.string())) : above;
  }
  const std::vector<std::string> near = nearest_names(missing.filename().string(), names_in(folder), 2);
  if (near.empty()) return {};
  std::vector<std::string> paths;
  for (const std::string& name : near) {
    paths.push_back(printable((missing.has_parent_path() ? folder / name : fs::path(name)).string()));
  }
  return fmt::format("did you mean {}?", fmt::join(paths, " or "));
}

std::string contents_text(const fs::path& folder, const std::string& extension) {
  std::vector<std::string> names = names_in(folder);
  if (names.empty()) return "it is empty";
  std::stable_partition(names.begin(), names.end(),
                        [&](const std::string& name) { return fs::path(name).extension() == extension; });
  for (std::string& name : names) name = printable(name);
  return "it holds " + list_some(names, 4);
}

}  // namespace vernier
