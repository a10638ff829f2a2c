// Machine code of our kernels, made by NVRTC, NVIDIA's compiler as a library. It needs no GPU.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace vernier {

/// NVRTC as it was found, in the process from then on.
struct NvrtcAbout {
  std::string place;    // empty: not found
  int version = 0;      // as a driver's: 13000 for CUDA 13.0
  std::string missing;  // why not
};
NvrtcAbout ask_nvrtc(const std::vector<std::filesystem::path>& packages);

/// kernels.cu for GPUs of `architecture` (compute capability times ten). Kept in `cache` by content and compiler,
/// unless that is empty; a file there that is damaged is made again. Errors: Backend without NVRTC, with the pip line,
/// or with the compiler's log.
std::string compile_kernels(int architecture, const std::vector<std::filesystem::path>& packages,
                            const std::filesystem::path& cache);

/// What installs all that a GPU needs beside the driver.
inline constexpr const char* kInstallCuda = "pip install \"onnxruntime-gpu[cuda,cudnn]\"";

}  // namespace vernier
