// Our kernels on one GPU: each call puts work on a stream and returns. What they compute, and in which order they sum,
// is that of src/numerics: the CPU's bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "engines/cuda/gpu.h"
#include "engines/cuda/records.h"
#include "numerics/metrics.h"
#include "numerics/round.h"

namespace vernier {

/// The scales of QuantParams where kernels read them. Per tensor they are arguments, and no memory is taken.
class GpuScales {
 public:
  GpuScales(const std::shared_ptr<const Gpu>& gpu, const QuantParams& params);
  const QuantParams& params() const noexcept { return params_; }
  /// For a tensor read as [outer, channels, inner].
  Scales of(std::int64_t channels, std::int64_t inner) const;

 private:
  QuantParams params_;
  GpuMemory scales_, zero_points_;
};

class GpuKernels {
 public:
  /// Compiles them where they are not kept in `cache`. Errors: Backend, as compile_kernels().
  GpuKernels(std::shared_ptr<const Gpu> gpu, const std::vector<std::filesystem::path>& packages,
             const std::filesystem::path& cache);

  const std::shared_ptr<const Gpu>& gpu() const noexcept { return gpu_; }

  using Address = Gpu::Address;
  /// Addresses are of floats; `record` 0: nothing is counted.
  void round(Address in, Address out, std::size_t count, const GpuScales& params, std::int64_t channels,
             std::int64_t inner, Address record, Gpu::Stream stream) const;
  /// The same with scales that follow from the values (QuantParams::dynamic), in blocks of each `length` neighbours, or
  /// for all; `range`: of range_bytes().
  void round_dynamic(Address in, Address out, std::size_t count, const QuantParams& params, std::int64_t length,
                     Address record, Address range, Gpu::Stream stream) const;
  static std::size_t range_bytes() { return sizeof(RangeRecord); }
  void round_to_tf32(Address in, Address out, std::size_t count, Gpu::Stream stream) const;
  void observe(Address in, std::size_t count, Address record, Gpu::Stream stream) const;
  /// Bytes of `scratch` for that many pairs.
  static std::size_t compare_bytes(std::size_t count);
  /// `rounds`: null, or a format without a scale that `got` is rounded to; `events` 0: not counted.
  void compare(Address ref, Address got, std::size_t count, const QuantParams* rounds, Address record, Address events,
               Address scratch, Gpu::Stream stream) const;
  /// As add_sum_noise().
  static std::size_t noise_bytes(std::size_t count, std::int64_t channels, std::int64_t inner);
  void add_noise(Address in, Address out, std::size_t count, std::int64_t channels, std::int64_t inner,
                 std::int64_t roundings, std::uint32_t seed, Address scratch, Gpu::Stream stream) const;
  /// `rounds`: as of compare().
  void add_bias(Address values, std::size_t count, Address bias, std::int64_t channels, std::int64_t inner,
                const QuantParams* rounds, Gpu::Stream stream) const;

 private:
  template <class... Arguments>
  void launch(Gpu::Function function, std::size_t threads, Gpu::Stream stream, Arguments... arguments) const;

  std::shared_ptr<const Gpu> gpu_;
  Gpu::Function round_ = nullptr, blocks_ = nullptr, forget_ = nullptr, to_range_ = nullptr, tf32_ = nullptr,
                observe_ = nullptr, compare_ = nullptr, add_blocks_ = nullptr, powers_ = nullptr, noise_ = nullptr,
                bias_ = nullptr;
};

/// What a record says, as the CPU would have it.
void add_to(ErrorStats& stats, const ErrorRecord& record, std::size_t pairs);
void add_to(RangeStats& stats, const RangeRecord& record, std::size_t values);
void add_to(RoundEvents& events, const EventRecord& record, std::size_t values);

}  // namespace vernier
