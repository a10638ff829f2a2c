// One GPU through NVIDIA's driver (libcuda.so.1), loaded at run time: memory, copies and kernels, in the context that
// ONNX Runtime uses too. What nobody asks for is not loaded: a machine without a GPU notices nothing.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace vernier {

/// What helps a GPU that is out of memory.
inline constexpr const char* kMoreGpuMemory =
    "more ‹gpu-memory›, a GPU with more memory, fewer ‹threads›, or ‹device› cpu";

/// What the driver says, for `vernier doctor`.
struct GpuAbout {
  std::string name;      // "NVIDIA H200"
  int architecture = 0;  // compute capability times ten: 90
  std::size_t bytes = 0;
  std::string id;  // of this GPU or part of one, and no other anywhere
};
struct DriverAbout {
  int cuda_version = 0;  // the newest CUDA that it runs, 13000 for 13.0; 0: there is none
  std::vector<GpuAbout> gpus;
  std::string missing;  // why there is none, or no GPU
};
DriverAbout ask_driver();

class Gpu {
 public:
  using Address = std::uint64_t;
  using Stream = void*;
  using Function = void*;

  /// GPU `index`, opened once a process. Errors: Backend without a driver or such a GPU.
  static std::shared_ptr<const Gpu> open(int index);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  int index() const noexcept { return index_; }
  const GpuAbout& about() const noexcept { return about_; }
  int cuda_version() const noexcept { return cuda_version_; }
  std::size_t free_bytes() const;
  /// At most so much of it is allocated from now on, by all together.
  void limit(std::size_t bytes) const noexcept { most_bytes_ = bytes; }

  // All of these make the GPU's context that of the thread. Errors: Backend with the driver's text, OutOfMemory past
  // the limit too.
  Address allocate(std::size_t bytes) const;
  void release(Address address, std::size_t bytes) const noexcept;
  /// Returns when it is there.
  void copy_in(Address to, const void* from, std::size_t bytes) const;
  /// The same behind what was put on `stream` before. `from` may change once it returns.
  void copy_in(Address to, const void* from, std::size_t bytes, Stream stream) const;
  void copy_out(void* to, Address from, std::size_t bytes) const;
  /// Waits for `stream`.
  void copy_out(void* to, Address from, std::size_t bytes, Stream stream) const;
  void copy(Address to, Address from, std::size_t bytes, Stream stream) const;
  /// `rows` runs of `bytes`, which begin so many bytes apart in each place.
  void copy_rows(Address to, std::size_t to_pitch, Address from, std::size_t from_pitch, std::size_t bytes,
                 std::size_t rows, Stream stream) const;
  void clear(Address address, std::size_t bytes) const;
  void wait(Stream stream) const;

  /// Loads machine code, which stays as long as the process.
  void* load_module(const std::string& image) const;
  Function function(void* module, const char* name) const;
  void launch(Function function, unsigned blocks, unsigned threads, Stream stream, void** arguments) const;

 private:
  struct Driver;
  explicit Gpu(int index);
  static const Driver* driver(std::string& missing);
  friend DriverAbout ask_driver();
  void make_current() const;
  void check(int code, const char* what) const;
  [[noreturn]] void refuse(std::size_t bytes) const;

  const Driver* driver_ = nullptr;
  int index_ = 0;
  int cuda_version_ = 0;
  GpuAbout about_;
  void* context_ = nullptr;
  mutable std::atomic<std::size_t> most_bytes_ = std::numeric_limits<std::size_t>::max(), used_bytes_ = 0;
};

/// Memory of a GPU. Move-only.
class GpuMemory {
 public:
  GpuMemory() = default;
  GpuMemory(std::shared_ptr<const Gpu> gpu, std::size_t bytes)
      : gpu_(std::move(gpu)), address_(gpu_->allocate(bytes)), bytes_(bytes) {}
  GpuMemory(GpuMemory&& other) noexcept { *this = std::move(other); }
  GpuMemory& operator=(GpuMemory&& other) noexcept {
    std::swap(gpu_, other.gpu_);
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~GpuMemory() {
    if (address_ != 0) gpu_->release(address_, bytes_);
  }
  Gpu::Address address() const noexcept { return address_; }
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  std::shared_ptr<const Gpu> gpu_;
  Gpu::Address address_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace vernier
