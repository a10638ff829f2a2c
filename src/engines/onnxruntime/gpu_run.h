// What our kernels of one run leave on the GPU, until the run ends and it is copied out at once: a record for each
// tensor that they looked at. Of the thread that runs, as current_recorders() is.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "engines/cuda/gpu_kernels.h"
#include "engines/onnxruntime/recorder.h"
#include "vernier/tensor.h"

namespace vernier {

/// Memory of runs that have ended, for the next ones: allocating waits for the GPU.
class GpuRooms {
 public:
  struct Room {
    GpuMemory records, scratch;
    std::array<GpuMemory, 2> gathered;
  };
  explicit GpuRooms(std::shared_ptr<const GpuKernels> kernels) : kernels_(std::move(kernels)) {}
  const GpuKernels& kernels() const noexcept { return *kernels_; }
  Room take();
  void give_back(Room room);

 private:
  std::shared_ptr<const GpuKernels> kernels_;
  std::mutex mutex_;
  std::vector<Room> free_;
};

class GpuRun {
 public:
  explicit GpuRun(GpuRooms& rooms);
  ~GpuRun();
  GpuRun(const GpuRun&) = delete;
  GpuRun& operator=(const GpuRun&) = delete;

  /// That of the run that this thread is inside of. Errors: Internal outside.
  static GpuRun& current();

  const GpuKernels& kernels() const noexcept { return rooms_.kernels(); }
  /// An empty record of `values` values, for `slot` of the recorder of a sample.
  Gpu::Address error(std::size_t sample, std::size_t slot, std::size_t values) {
    return add({Error, sample, slot, values});
  }
  Gpu::Address range(std::size_t sample, std::size_t slot, std::size_t values) {
    return add({Range, sample, slot, values});
  }
  Gpu::Address events(std::size_t sample, std::size_t slot, std::size_t values) {
    return add({Events, sample, slot, values});
  }
  /// Room for work that ends before the next kernel of this run begins; the same place each time.
  Gpu::Address scratch(std::size_t bytes);

  /// The same for the values of one sample of a batch, in two places.
  Gpu::Address gathered(int which, std::size_t bytes);

  /// Adds all records to the recorders. After the session's run, which waited for the GPU.
  void collect(std::span<Recorder> recorders);

 private:
  enum Kind { Error, Range, Events };
  struct Entry {
    Kind kind;
    std::size_t sample, slot, values;
  };
  Gpu::Address add(const Entry& entry);
  /// `memory`, which grows where it is smaller.
  Gpu::Address at_least(GpuMemory& memory, std::size_t bytes) const;

  GpuRooms& rooms_;
  GpuRooms::Room room_;
  std::vector<GpuMemory> full_;  // rooms of records before, which were too small
  std::vector<Entry> entries_;
  GpuRun* previous_;
};

}  // namespace vernier
