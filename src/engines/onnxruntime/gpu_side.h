// ONNX Runtime on a GPU: its CUDA build, found beside the CPU's, and what sessions on the GPU share.
#pragma once

#include <onnxruntime_c_api.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engines/cuda/gpu_kernels.h"
#include "engines/onnxruntime/gpu_copies.h"
#include "engines/onnxruntime/gpu_run.h"
#include "vernier/device.h"

namespace vernier {

class Runtime;

class GpuSide {
 public:
  explicit GpuSide(std::shared_ptr<const GpuKernels> kernels);

  const Gpu& gpu() const noexcept { return *kernels_->gpu(); }
  GpuRooms& rooms() noexcept { return rooms_; }
  GpuCopies& copies() noexcept { return copies_; }
  /// Lets sessions that are made from now on, and what they read, take at most so much of the GPU; absent: what is
  /// free.
  void limit(const Runtime& runtime, std::optional<ByteSize> most);
  /// Of weights, all parts of a session that stay on the GPU may have so many bytes.
  std::size_t bytes_of_weights() const { return bytes_of_weights_; }
  /// What is left for tensors inside of networks.
  std::size_t bytes_inside() const { return bytes_inside_; }
  /// All that may be used.
  std::size_t bytes() const { return bytes_of_copies_ + bytes_inside_; }

  /// "NVIDIA H200 (cuda:0)".
  std::string text() const;

  /// Lets a session run on the GPU: its provider, and our operators. FP32 is FP32: without TF32.
  void add_to(const Runtime& runtime, OrtSessionOptions* options);
  /// Says how many copies between CPU and GPU a session has inside, the most of any; empty: none has.
  std::size_t copies_inside() const { return copies_inside_; }
  /// The most parts that a session was cut into for want of memory; 0: none was.
  std::size_t most_parts() const { return most_parts_; }
  void was_cut_into(std::size_t parts) { raise(most_parts_, parts); }

 private:
  static void ORT_API_CALL listen(void* side, OrtLoggingLevel level, const char* category, const char* id,
                                  const char* place, const char* text);

  std::shared_ptr<const GpuKernels> kernels_;
  void share(std::size_t bytes);
  static void raise(std::atomic<std::size_t>& most, std::size_t count);

  GpuRooms rooms_;
  GpuCopies copies_;
  std::mutex limiting_;
  std::optional<ByteSize> most_;
  std::atomic<bool> limited_ = false;
  std::atomic<std::size_t> bytes_of_weights_ = 0, bytes_of_copies_ = 0, bytes_inside_ = 0;
  std::atomic<std::size_t> copies_inside_ = 0, most_parts_ = 0;
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
