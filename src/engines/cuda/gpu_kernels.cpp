#include "engines/cuda/gpu_kernels.h"

#include <algorithm>
#include <bit>

#include "engines/cuda/compiler.h"
#include "numerics/grid.h"
#include "numerics/metrics_simd.h"
#include "numerics/tensor_cores.h"

namespace vernier {
namespace {

// Beyond this, each thread takes several values: the blocks of a launch fill every GPU of today several times.
constexpr std::size_t kMostBlocks = 4096;

std::size_t blocks_of(std::size_t pairs) {
  static_assert(kPairsOfBlock == kErrorBlock && kLanesOfBlock == kErrorLanes);
  const std::size_t whole = pairs / kErrorLanes * kErrorLanes;
  return (whole + kErrorBlock - 1) / kErrorBlock + (whole < pairs ? 1 : 0);
}

GpuMemory copied(const std::shared_ptr<const Gpu>& gpu, const void* from, std::size_t bytes) {
  GpuMemory memory(gpu, bytes);
  gpu->copy_in(memory.address(), from, bytes);
  return memory;
}

float value_of(unsigned ordered) {
  return std::bit_cast<float>((ordered & 0x80000000U) != 0 ? ordered & 0x7FFFFFFFU : ~ordered);
}

}  // namespace

GpuScales::GpuScales(const std::shared_ptr<const Gpu>& gpu, const QuantParams& params) : params_(params) {
  if (params.scale.size() < 2) return;
  scales_ = copied(gpu, params.scale.data(), params.scale.size() * sizeof(float));
  if (params.zero_point.empty()) return;
  zero_points_ = copied(gpu, params.zero_point.data(), params.zero_point.size() * sizeof(std::int32_t));
}

Scales GpuScales::of(std::int64_t channels, std::int64_t inner) const {
  Scales scales{reinterpret_cast<const float*>(scales_.address()),
                reinterpret_cast<const int*>(zero_points_.address()),
                params_.scale.empty() ? 1.0F : params_.scale.front(),
                params_.zero_point.empty() ? 0.0F : static_cast<float>(params_.zero_point.front()),
                static_cast<Count>(channels),
                static_cast<Count>(inner),
                static_cast<Count>(params_.block)};
  return scales;
}

GpuKernels::GpuKernels(std::shared_ptr<const Gpu> gpu, const std::vector<std::filesystem::path>& packages,
                       const std::filesystem::path& cache)
    : gpu_(std::move(gpu)) {
  void* const module = gpu_->load_module(compile_kernels(gpu_->about().architecture, packages, cache));
  round_ = gpu_->function(module, "round_values");
  blocks_ = gpu_->function(module, "round_blocks");
  forget_ = gpu_->function(module, "forget_range");
  to_range_ = gpu_->function(module, "round_to_range");
  tf32_ = gpu_->function(module, "round_to_tf32");
  observe_ = gpu_->function(module, "observe_values");
  compare_ = gpu_->function(module, "compare_blocks");
  add_blocks_ = gpu_->function(module, "add_blocks");
  powers_ = gpu_->function(module, "sum_squared_powers");
  noise_ = gpu_->function(module, "add_noise");
  bias_ = gpu_->function(module, "add_bias");
}

template <class... Arguments>
void GpuKernels::launch(Gpu::Function function, std::size_t threads, Gpu::Stream stream, Arguments... arguments) const {
  if (threads == 0) return;
  const std::size_t blocks = std::min((threads + kThreads - 1) / kThreads, kMostBlocks);
  void* addresses[] = {&arguments...};
  gpu_->launch(function, static_cast<unsigned>(blocks), kThreads, stream, addresses);
}

void GpuKernels::round(Address in, Address out, std::size_t count, const GpuScales& params, std::int64_t channels,
                       std::int64_t inner, Address record, Gpu::Stream stream) const {
  launch(round_, count, stream, in, out, Count{count}, value_grid(params.params()), params.of(channels, inner), record);
}

void GpuKernels::round_dynamic(Address in, Address out, std::size_t count, const QuantParams& params,
                               std::int64_t length, Address record, Address range, Gpu::Stream stream) const {
  if (count == 0) return;
  const ValueGrid grid = value_grid(params);
  if (params.block > 0) {
    const auto row = static_cast<std::size_t>(length), block = static_cast<std::size_t>(params.block);
    const std::size_t rows = count / row;
    launch(blocks_, rows * ((row + block - 1) / block), stream, in, out, Count{rows}, Count{row}, Count{block}, grid,
           block_grid(params.format, params.scale.at(0)), record);
    return;
  }
  launch(forget_, 1, stream, range);
  observe(in, count, range, stream);
  launch(to_range_, count, stream, in, out, Count{count}, grid, range, record);
}

void GpuKernels::round_to_tf32(Address in, Address out, std::size_t count, Gpu::Stream stream) const {
  launch(tf32_, count, stream, in, out, Count{count});
}

void GpuKernels::observe(Address in, std::size_t count, Address record, Gpu::Stream stream) const {
  launch(observe_, count, stream, in, Count{count}, record);
}

std::size_t GpuKernels::compare_bytes(std::size_t count) { return blocks_of(count) * sizeof(ErrorRecord); }

void GpuKernels::compare(Address ref, Address got, std::size_t count, const QuantParams* rounds, Address record,
                         Address events, Address scratch, Gpu::Stream stream) const {
  const std::size_t blocks = blocks_of(count);
  const ValueGrid grid = rounds == nullptr ? ValueGrid{} : value_grid(*rounds);
  // Not launch(): each block of pairs has threads of its own, however many there are.
  int rounds_it = rounds != nullptr ? 1 : 0;
  Count pairs = count, block_count = blocks;
  ValueGrid grid_argument = grid;
  if (blocks == 0) return;
  void* summing[] = {&ref, &got, &pairs, &rounds_it, &grid_argument, &scratch, &events};
  gpu_->launch(compare_, static_cast<unsigned>((blocks + kBlocksOfThreads - 1) / kBlocksOfThreads), kThreads, stream,
               summing);
  void* adding[] = {&scratch, &block_count, &record};
  constexpr unsigned kWarp = 32;
  gpu_->launch(add_blocks_, 1, kWarp, stream, adding);
}

std::size_t GpuKernels::noise_bytes(std::size_t count, std::int64_t channels, std::int64_t inner) {
  return count / std::max<std::size_t>(values_of_one_noise(channels, inner), 1) * kLanesOfPowers * sizeof(float);
}

void GpuKernels::add_noise(Address in, Address out, std::size_t count, std::int64_t channels, std::int64_t inner,
                           std::int64_t roundings, std::uint32_t seed, Address scratch, Gpu::Stream stream) const {
  const std::size_t run = values_of_one_noise(channels, inner);
  if (run == 0 || count == 0) return;
  constexpr std::size_t kWarp = 32;
  Count values = count, length = run;
  void* summing[] = {&in, &values, &length, &scratch};
  const std::size_t warps = count / run;
  gpu_->launch(powers_, static_cast<unsigned>((warps * kWarp + kThreads - 1) / kThreads), kThreads, stream, summing);
  launch(noise_, count, stream, in, out, values, length, scratch, static_cast<double>(roundings), seed);
}

void GpuKernels::add_bias(Address values, std::size_t count, Address bias, std::int64_t channels, std::int64_t inner,
                          const QuantParams* rounds, Gpu::Stream stream) const {
  launch(bias_, count, stream, values, Count{count}, bias, static_cast<Count>(channels), static_cast<Count>(inner),
         rounds != nullptr ? 1 : 0, rounds == nullptr ? ValueGrid{} : value_grid(*rounds));
}

void add_to(ErrorStats& stats, const ErrorRecord& record, std::size_t pairs) {
  ErrorStats seen;
  seen.count = static_cast<std::int64_t>(pairs);
  seen.ref_nonfinite = static_cast<std::int64_t>(record.counts[0]);
  seen.same_infinity = static_cast<std::int64_t>(record.counts[1]);
  seen.got_nan = static_cast<std::int64_t>(record.counts[2]);
  seen.got_inf = static_cast<std::int64_t>(record.counts[3]);
  seen.ref_energy = record.sums[0];
  seen.got_energy = record.sums[1];
  seen.dot = record.sums[2];
  seen.error_energy = record.sums[3];
  seen.error_sum = record.sums[4];
  seen.max_abs_error = record.ends[0];
  seen.max_abs_ref = record.ends[1];
  stats += seen;
}

void add_to(RangeStats& stats, const RangeRecord& record, std::size_t values) {
  RangeStats seen;
  if (record.max != 0) {
    seen.min = value_of(~record.inverted_min);
    seen.max = value_of(record.max);
  }
  seen.count = static_cast<std::int64_t>(values);
  seen.nonfinite = static_cast<std::int64_t>(record.nonfinite);
  stats += seen;
}

void add_to(RoundEvents& events, const EventRecord& record, std::size_t values) {
  RoundEvents seen;
  seen.count = static_cast<std::int64_t>(values);
  seen.saturated = static_cast<std::int64_t>(record.saturated);
  seen.overflowed = static_cast<std::int64_t>(record.overflowed);
  seen.subnormal = static_cast<std::int64_t>(record.subnormal);
  seen.flushed = static_cast<std::int64_t>(record.flushed);
  seen.nan = static_cast<std::int64_t>(record.nan);
  events += seen;
}

}  // namespace vernier
