// ONNX Runtime on a GPU: its CUDA build, found beside the CPU's, and what sessions on the GPU share.
#pragma once

#include <onnxruntime_c_api.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engines/cuda/gpu_kernels.h"
#include "engines/onnxruntime/gpu_copies.h"
#include "engines/onnxruntime/gpu_run.h"

namespace vernier {

class Runtime;

class GpuSide {
 public:
  explicit GpuSide(std::shared_ptr<const GpuKernels> kernels);

  const Gpu& gpu() const noexcept { return *kernels_->gpu(); }
  GpuRooms& rooms() noexcept { return rooms_; }
  GpuCopies& copies() noexcept { return copies_; }
  /// "NVIDIA H200 (cuda:0)".
  std::string text() const;

  /// Lets a session run on the GPU: its provider, and our operators. FP32 is FP32: without TF32.
  void add_to(const Runtime& runtime, OrtSessionOptions* options);
  /// Says how many copies between CPU and GPU a session has inside, the most of any; empty: none has.
  std::size_t copies_inside() const { return copies_inside_; }

 private:
  static void ORT_API_CALL listen(void* side, OrtLoggingLevel level, const char* category, const char* id,
                                  const char* place, const char* text);

  std::shared_ptr<const GpuKernels> kernels_;
  GpuRooms rooms_;
  GpuCopies copies_;
  std::atomic<std::size_t> copies_inside_ = 0;
};

/// The CUDA build on that GPU, loaded once a process. Looked for in this order: the file, or the folder of it, that
/// VERNIER_ONNXRUNTIME_GPU names, alone where there is one; the package that the CPU's comes from; Python packages
/// around the program, of the active virtual environment, of the system. Errors: Backend.
std::shared_ptr<const Runtime> load_gpu_runtime(int index);

/// Runs a convolution and a product on the GPU of `runtime`: the first of a process loads NVIDIA's libraries.
void warm_up(const std::shared_ptr<const Runtime>& runtime);

/// Whether it is worth a try to load it: there is a driver, and a CUDA build. Asks no GPU.
bool gpu_may_be_there();

/// What there is of all that a GPU needs, and what is missing, for `vernier doctor`: (part, finding).
struct GpuFindings {
  std::vector<std::pair<std::string, std::string>> parts;
  bool complete = false;
  std::string hint;  // what to do where it is not
};
GpuFindings find_gpu_parts();

}  // namespace vernier
