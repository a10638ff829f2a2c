// Shared libraries of NVIDIA and of CUDA builds, found at run time: on the loader's path, or in Python packages.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace vernier {

/// Folders that may hold Python packages, the nearest first: around the program, of the active virtual environment, of
/// the system. Only those that exist.
std::vector<std::filesystem::path> package_folders();

struct LoadedLibrary {
  void* handle = nullptr;  // null: not found
  std::string place;       // a path, or the name alone where the loader found it; else why there is none
};

/// The first of `names` ("libnvrtc.so.13", newest first) that loads: by the loader, then from `nvidia/*/lib` of
/// `packages`. Stays in the process.
LoadedLibrary load_nvidia_library(const std::vector<std::string>& names,
                                  const std::vector<std::filesystem::path>& packages);

}  // namespace vernier
