// Copies of tensors on a GPU: what a job feeds again and again (samples, constants that trials switch between) goes
// over once. A copy lives as long as the bytes it is of.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "engines/cuda/gpu.h"
#include "vernier/tensor.h"

namespace vernier {

class GpuCopies {
 public:
  explicit GpuCopies(std::shared_ptr<const Gpu> gpu) : gpu_(std::move(gpu)) {}
  /// At most so many bytes are kept from now on; what is over that is copied for the run alone.
  void limit(std::size_t bytes);
  /// Copies that no run holds make room where the GPU is out of memory. Safe from several threads.
  std::shared_ptr<const GpuMemory> of(const Tensor& tensor);

 private:
  struct Copy {
    std::weak_ptr<const std::byte> bytes;
    std::shared_ptr<const GpuMemory> memory;
  };
  template <class Unwanted>
  void drop(const Unwanted& unwanted);
  std::shared_ptr<GpuMemory> room_for(std::size_t bytes);

  std::shared_ptr<const Gpu> gpu_;
  std::size_t most_bytes_ = 0, kept_bytes_ = 0;
  std::mutex mutex_;
  std::map<const std::byte*, Copy> copies_;
};

}  // namespace vernier
