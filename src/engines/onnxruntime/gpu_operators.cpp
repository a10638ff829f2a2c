// Our operators as kernels of a GPU. They put their work on the stream of the run and return; what they see is copied
// out when the run ends (gpu_run.h). Tensors that a histogram wants are copied out at once, which waits for the GPU.
#include "engines/onnxruntime/gpu_operators.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "engines/cuda/gpu_kernels.h"
#include "engines/onnxruntime/gpu_run.h"
#include "engines/onnxruntime/operator_kernels.h"
#include "engines/onnxruntime/recorder.h"
#include "engines/onnxruntime/runtime.h"
#include "plan/round_node.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

constexpr const char* kCuda = "CUDAExecutionProvider";

Gpu::Address address_of(const void* values) { return reinterpret_cast<Gpu::Address>(values); }

/// `Attributes` of an operator, and how its kernel reaches the GPU. Spans of values are of the GPU's memory.
template <class Attributes>
struct OnGpu : Attributes {
  using Input = Kernel::Input;

  Gpu::Stream stream(OrtKernelContext* context) const {
    Gpu::Stream found = nullptr;
    this->check(this->api->KernelContext_GetGPUComputeStream(context, &found));
    return found;
  }

  void pass_on(OrtKernelContext* context, std::size_t index, const Input& in) const {
    const std::span<float> out = this->output(context, index, in);
    if (out.empty() || out.data() == in.values.data()) return;
    GpuRun::current().kernels().gpu()->copy(address_of(out.data()), address_of(in.values.data()),
                                            in.values.size_bytes(), stream(context));
  }
};

/// The values of one sample, copied to the room `which` of `run` where they do not lie together.
Gpu::Address gathered(GpuRun& run, int which, Gpu::Address all, const SampleParts& parts, std::size_t sample,
                      Gpu::Stream stream) {
  const std::size_t bytes = parts.inner * sizeof(float);
  const Gpu::Address first = all + sample * bytes;
  if (parts.contiguous()) return first;
  const Gpu::Address room = run.gathered(which, parts.values() * sizeof(float));
  run.kernels().gpu()->copy_rows(room, bytes, first, parts.samples * bytes, bytes, parts.outer, stream);
  return room;
}

/// Lets `make` write the values of each sample where they belong.
template <class Make>
void make_each(GpuRun& run, const SampleParts& parts, Gpu::Address in, Gpu::Address out, Gpu::Stream stream,
               const Make& make) {
  const std::size_t bytes = parts.inner * sizeof(float);
  for (std::size_t i = 0; i < parts.samples; ++i) {
    const Gpu::Address from = gathered(run, 0, in, parts, i, stream);
    const Gpu::Address to = out + i * bytes;
    if (parts.contiguous()) {
      make(i, from, to);
      continue;
    }
    make(i, from, from);
    run.kernels().gpu()->copy_rows(to, parts.samples * bytes, from, bytes, bytes, parts.outer, stream);
  }
}

/// Rounds a tensor of `shape`, or of one sample, as round_tensor() does; `events` 0: not counted.
void round_on_gpu(GpuRun& run, const GpuScales& scales, const Shape& shape, std::size_t count, Gpu::Address from,
                  Gpu::Address to, Gpu::Address events, Gpu::Stream stream) {
  const QuantParams& params = scales.params();
  if (params.dynamic) {
    const Gpu::Address range = run.scratch(GpuKernels::range_bytes());
    return run.kernels().round_dynamic(from, to, count, params, shape.empty() ? 1 : shape.back(), events, range,
                                       stream);
  }
  const auto [channels, inner] = extent_of(params, shape, count);
  run.kernels().round(from, to, count, scales, channels, inner, events, stream);
}

struct GpuRoundKernel final : OnGpu<RoundAttributes> {
  std::optional<GpuScales> scales;

  void create(const OrtKernelInfo* info) {
    RoundAttributes::create(info);
    scales.emplace(GpuRun::current().kernels().gpu(), params);
  }

  void compute(OrtKernelContext* context) const override {
    const Input in = input(context, 0);
    const std::span<float> out = output(context, 0, in);
    GpuRun& run = GpuRun::current();
    const std::span<Recorder> recorders = current_recorders();
    const auto place = static_cast<std::size_t>(slot);
    const bool of_weight = params.block > 0 && !params.dynamic;
    const bool counts = slot >= 0 && !of_weight && !recorders.empty() && place < recorders[0].events.size();
    const bool by_sample = counts || params.dynamic;
    const SampleParts parts = by_sample ? parts_in_run(in.shape) : SampleParts{1, 1, in.values.size(), in.shape};
    const Gpu::Stream on = stream(context);
    make_each(run, parts, address_of(in.values.data()), address_of(out.data()), on,
              [&](std::size_t i, Gpu::Address from, Gpu::Address to) {
                round_on_gpu(run, *scales, parts.shape, parts.values(), from, to,
                             counts ? run.events(i, place, parts.values()) : 0, on);
              });
  }
};

struct GpuAccumulateKernel final : OnGpu<AccumulateAttributes> {
  void compute(OrtKernelContext* context) const override {
    const Input in = input(context, 0);
    const std::span<float> out = output(context, 0, in);
    const SampleParts parts = parts_in_run(in.shape);
    const Sums sums = sums_of(parts.shape);
    GpuRun& run = GpuRun::current();
    const Gpu::Stream on = stream(context);
    const std::size_t noise_bytes = GpuKernels::noise_bytes(parts.values(), sums.channels, sums.inner);
    make_each(run, parts, address_of(in.values.data()), address_of(out.data()), on,
              [&](std::size_t, Gpu::Address from, Gpu::Address to) {
                run.kernels().add_noise(from, to, parts.values(), sums.channels, sums.inner, sums.roundings, seed,
                                        run.scratch(noise_bytes), on);
              });
    std::size_t inputs = 0;
    check(api->KernelContext_GetInputCount(context, &inputs));
    if (inputs < 2) return;
    const std::span<const float> bias = input(context, 1).values;
    const Sums all = sums_of(in.shape);
    check_bias(bias.size(), all.channels);
    run.kernels().add_bias(address_of(out.data()), out.size(), address_of(bias.data()), all.channels, all.inner,
                           sums.rows >= 2 ? &params : nullptr, on);
  }
};

struct GpuTf32Kernel final : OnGpu<Kernel> {
  void create(const OrtKernelInfo* /*info*/) {}
  void compute(OrtKernelContext* context) const override {
    const Input in = input(context, 0);
    const std::span<float> out = output(context, 0, in);
    GpuRun::current().kernels().round_to_tf32(address_of(in.values.data()), address_of(out.data()), out.size(),
                                              stream(context));
  }
};

struct GpuSwitchKernel final : OnGpu<SlotAttributes> {
  /// Of one grid, which stay on the GPU as long as the session: a search has few for a tensor.
  const GpuScales& scales_of(const std::shared_ptr<const Gpu>& gpu, const QuantParams& params) const {
    const std::lock_guard lock(mutex_);
    const auto known =
        std::ranges::find(known_, params, [](const auto& scales) -> const QuantParams& { return scales->params(); });
    if (known != known_.end()) return **known;
    return *known_.emplace_back(std::make_unique<const GpuScales>(gpu, params));
  }

  void compute(OrtKernelContext* context) const override {
    const Input in = input(context, 0);
    const std::span<Recorder> recorders = current_recorders();
    const auto* const roundings = recorders.empty() ? nullptr : recorders.front().roundings;  // the same for all
    if (roundings == nullptr || roundings->at(slot).empty()) return pass_on(context, 0, in);
    const std::span<float> out = output(context, 0, in);
    GpuRun& run = GpuRun::current();
    const Gpu::Stream on = stream(context);
    const float* from = in.values.data();
    for (const QuantParams& params : roundings->at(slot)) {
      const GpuScales& scales = scales_of(run.kernels().gpu(), params);
      // Scales of a run are those of its sample.
      const SampleParts parts = params.dynamic ? parts_in_run(in.shape) : SampleParts{1, 1, in.values.size(), in.shape};
      make_each(run, parts, address_of(from), address_of(out.data()), on,
                [&](std::size_t, Gpu::Address one, Gpu::Address to) {
                  round_on_gpu(run, scales, parts.shape, parts.values(), one, to, 0, on);
                });
      from = out.data();
    }
  }

 private:
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<const GpuScales>> known_;
};

struct GpuObserveKernel final : OnGpu<SlotAttributes> {
  void compute(OrtKernelContext* context) const override {
    const Input in = input(context, 0);
    GpuRun& run = GpuRun::current();
    const Gpu::Stream on = stream(context);
    const std::span<Recorder> recorders = current_recorders();
    if (!recorders.empty() && slot < recorders.front().ranges.size()) {
      const SampleParts parts = parts_in_run(in.shape);
      const std::size_t count = parts.values();
      for (std::size_t i = 0; i < recorders.size(); ++i) {
        Recorder& recorder = recorders[i];
        const Gpu::Address one = gathered(run, 0, address_of(in.values.data()), parts, i, on);
        run.kernels().observe(one, count, run.range(i, slot, count), on);
        recorder.shapes[slot] = parts.shape;
        if (recorder.histograms == nullptr || !recorder.histograms->wants(slot)) continue;
        std::vector<float> values(count);
        run.kernels().gpu()->copy_out(values.data(), one, count * sizeof(float), on);
        recorder.histograms->add(slot, recorder.sample, values);
      }
    }
    pass_on(context, 0, in);
  }
};

struct GpuCompareKernel final : OnGpu<CompareAttributes> {
  void compute(OrtKernelContext* context) const override {
    const Input ref = input(context, 0);
    const Input got = input(context, 1);
    GpuRun& run = GpuRun::current();
    const Gpu::Stream on = stream(context);
    const std::span<Recorder> recorders = recorders_of(ref, got);
    if (!recorders.empty() && slot < recorders.front().errors.size()) {
      const SampleParts parts = parts_in_run(ref.shape);
      const std::size_t count = parts.values();
      for (std::size_t i = 0; i < recorders.size(); ++i) {
        const bool counts = rounds && counts_into(recorders[i].events.size());
        const Gpu::Address record = run.error(i, slot, count);
        const Gpu::Address events = counts ? run.events(i, static_cast<std::size_t>(event_slot), count) : 0;
        const Gpu::Address exact = gathered(run, 0, address_of(ref.values.data()), parts, i, on);
        const Gpu::Address tested = gathered(run, 1, address_of(got.values.data()), parts, i, on);
        run.kernels().compare(exact, tested, count, rounds ? &*rounds : nullptr, record, events,
                              run.scratch(GpuKernels::compare_bytes(count)), on);
        recorders[i].shapes[slot] = parts.shape;
      }
    }
    pass_on(context, 0, ref);
    std::size_t outputs = 0;
    check(api->KernelContext_GetOutputCount(context, &outputs));
    if (outputs > 1) pass_on(context, 1, got);
  }
};

struct GpuInjectKernel final : OnGpu<InjectAttributes> {
  void compute(OrtKernelContext* context) const override {
    const Input in = input(context, 0);
    const Tensor* const other = injected(in.shape);
    if (other == nullptr) return pass_on(context, 0, in);
    GpuRun::current().kernels().gpu()->copy_in(address_of(output(context, 0, in).data()), other->bytes().data(),
                                               other->byte_size(), stream(context));
  }
};

std::vector<Operator> gpu_operators(const OrtApi& api) {
  return {make_operator<GpuRoundKernel>(api, "Round", 2, 1, kCuda),
          make_operator<GpuObserveKernel>(api, "Observe", 1, 1, kCuda),
          make_operator<GpuCompareKernel>(api, "Compare", 2, 2, kCuda),
          make_operator<GpuInjectKernel>(api, "Inject", 1, 1, kCuda),
          make_operator<GpuAccumulateKernel>(api, "Accumulate", 2, 1, kCuda),
          make_operator<GpuTf32Kernel>(api, "Tf32", 1, 1, kCuda),
          make_operator<GpuSwitchKernel>(api, "Switch", 2, 1, kCuda)};
}

}  // namespace

void register_gpu_operators(const Runtime& runtime, OrtSessionOptions* options) {
  runtime.check(runtime.api().AddCustomOpDomain(options, domain_of(runtime, kDomain, &gpu_operators)));
}

}  // namespace vernier
