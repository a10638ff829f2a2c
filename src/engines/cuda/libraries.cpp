#include "engines/cuda/libraries.h"

#include <dlfcn.h>
#include <glob.h>

#include <cstdlib>
#include <system_error>

namespace vernier {
namespace {

namespace fs = std::filesystem;

void add_matches(const std::string& pattern, std::vector<fs::path>& paths) {
  glob_t found{};
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    for (std::size_t i = found.gl_pathc; i > 0; --i) paths.emplace_back(found.gl_pathv[i - 1]);  // newest first
  }
  ::globfree(&found);
}

}  // namespace

std::vector<fs::path> package_folders() {
  std::error_code ignored;
  std::vector<fs::path> folders;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  folders.push_back(program.parent_path());  // a package beside the one that brought the program
  add_matches((program.parent_path() / "lib/python3*/site-packages").string(), folders);
  if (const char* const active = std::getenv("VIRTUAL_ENV")) {
    add_matches(std::string(active) + "/lib/python3*/site-packages", folders);
  }
  add_matches("/usr/local/lib/python3*/dist-packages", folders);
  add_matches("/usr/lib/python3/dist-packages", folders);
  std::erase_if(folders, [&](const fs::path& folder) { return !fs::is_directory(folder, ignored); });
  return folders;
}

LoadedLibrary load_nvidia_library(const std::vector<std::string>& names, const std::vector<fs::path>& packages) {
  std::string why = names.front() + " was not found";
  const auto load = [&](const std::string& file) -> void* {
    void* const handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    const char* const reason = handle == nullptr ? ::dlerror() : nullptr;
    if (reason != nullptr && std::string(reason).find("No such file") == std::string::npos) why = reason;
    return handle;
  };
  for (const std::string& name : names) {
    if (void* const handle = load(name)) return {handle, name};
    for (const fs::path& folder : packages) {
      std::vector<fs::path> files;
      add_matches((folder / "nvidia" / "*" / "lib" / name).string(), files);
      for (const fs::path& file : files) {
        if (void* const handle = load(file.string())) return {handle, file.string()};
      }
    }
  }
  return {nullptr, why};
}

}  // namespace vernier
