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
  /// At most `most_bytes` are kept; what is over that is copied for the run alone.
  GpuCopies(std::shared_ptr<const Gpu> gpu, std::size_t most_bytes) : gpu_(std::move(gpu)), most_bytes_(most_bytes) {}
  /// Safe from several threads.
  std::shared_ptr<const GpuMemory> of(const Tensor& tensor);

 private:
  struct Copy {
    std::weak_ptr<const std::byte> bytes;
    std::shared_ptr<const GpuMemory> memory;
  };
  void drop_ended();

  std::shared_ptr<const Gpu> gpu_;
  std::size_t most_bytes_, kept_bytes_ = 0;
  std::mutex mutex_;
  std::map<const std::byte*, Copy> copies_;
};

}  // namespace vernier
