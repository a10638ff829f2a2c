#include "engines/onnxruntime/operators.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <vector>

#include "engines/onnxruntime/kernel.h"
#include "engines/onnxruntime/operator_kernels.h"
#include "engines/onnxruntime/pair_sums_kernel.h"
#include "engines/onnxruntime/recorder.h"
#include "engines/onnxruntime/runtime.h"
#include "model/model.h"
#include "numerics/metrics.h"
#include "numerics/round.h"
#include "numerics/rounded_error.h"
#include "numerics/tensor_cores.h"
#include "numerics/tensor_grid.h"
#include "plan/round_node.h"
#include "vernier/error.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

/// The values of one sample, which `room` is filled with where they do not lie together.
std::span<const float> gathered(std::span<const float> all, const SampleParts& parts, std::size_t sample,
                                std::vector<float>& room) {
  if (parts.contiguous()) return parts.of(all, sample);
  room.resize(parts.values());
  for (std::size_t run = 0; run < parts.outer; ++run) {
    std::ranges::copy(all.subspan((run * parts.samples + sample) * parts.inner, parts.inner),
                      room.begin() + static_cast<std::ptrdiff_t>(run * parts.inner));
  }
  return room;
}

/// Puts what `make` writes for each sample where its values belong.
void make_each(const SampleParts& parts, std::span<const float> in, std::span<float> out,
               const std::function<void(std::size_t sample, std::span<const float>, std::span<float>)>& make) {
  std::vector<float> room, made(parts.contiguous() ? 0 : parts.values());
  for (std::size_t i = 0; i < parts.samples; ++i) {
    const std::span<const float> from = gathered(in, parts, i, room);
    if (parts.contiguous()) {
      make(i, from, parts.of(out, i));
      continue;
    }
    make(i, from, made);
    for (std::size_t run = 0; run < parts.outer; ++run) {
      std::ranges::copy(std::span(made).subspan(run * parts.inner, parts.inner),
                        out.subspan((run * parts.samples + i) * parts.inner).begin());
    }
  }
}

struct RoundKernel final : RoundAttributes {
  void compute(OrtKernelContext* context) const override {
    const Input in = input(context, 0);
    const std::span<float> out = output(context, 0, in);
    const std::span<Recorder> recorders = current_recorders();
    const auto place = static_cast<std::size_t>(slot);
    const bool of_weight = params.block > 0 && !params.dynamic;
    const bool counts = slot >= 0 && !of_weight && !recorders.empty() && place < recorders.front().events.size();
    if (!counts && (!params.dynamic || of_weight)) return round_tensor(params, in.shape, in.values, out);
    const SampleParts parts = parts_in_run(in.shape);
    make_each(parts, in.values, out, [&](std::size_t i, std::span<const float> from, std::span<float> to) {
      round_tensor(params, parts.shape, from, to, counts ? &recorders[i].events[place] : nullptr);
    });
  }
};

struct AccumulateKernel final : AccumulateAttributes {
  void compute(OrtKernelContext* context) const override {
    const Input in = input(context, 0);
    const std::span<float> out = output(context, 0, in);
    // What is added hangs on the place within a sample.
    const SampleParts parts = parts_in_run(in.shape);
    const Sums sums = sums_of(parts.shape);
    make_each(parts, in.values, out, [&](std::size_t, std::span<const float> from, std::span<float> to) {
      add_sum_noise(sums.channels, sums.inner, sums.roundings, seed, from, to);
    });
    std::size_t inputs = 0;
    check(api->KernelContext_GetInputCount(context, &inputs));
    if (inputs < 2) return;
    const std::span<const float> bias = input(context, 1).values;
    const Sums all = sums_of(in.shape);
    check_bias(bias.size(), all.channels);
    if (sums.rows >= 2) round_to(params, out, out);
    for (std::size_t first = 0; first < out.size();) {
      for (const float addend : bias) {
        for (const std::size_t end = first + static_cast<std::size_t>(all.inner); first < end; ++first)
          out[first] += addend;
      }
    }
  }
};

struct Tf32Kernel final : Kernel {
  void create(const OrtKernelInfo* /*info*/) {}
  void compute(OrtKernelContext* context) const override {
    const Input in = input(context, 0);
    round_to_tf32(in.values, output(context, 0, in));
  }
};

struct SwitchKernel final : SlotAttributes {
  void compute(OrtKernelContext* context) const override {
    const Input in = input(context, 0);
    const std::span<Recorder> recorders = current_recorders();
    const auto* const roundings = recorders.empty() ? nullptr : recorders.front().roundings;  // the same for all
    if (roundings == nullptr || roundings->at(slot).empty()) {
      pass(context, 0, in);
      return;
    }
    const std::span<float> out = output(context, 0, in);
    std::span<const float> from = in.values;
    for (const QuantParams& params : roundings->at(slot)) {
      if (params.dynamic) {  // scales of a run are those of its sample
        const SampleParts parts = parts_in_run(in.shape);
        make_each(parts, from, out, [&](std::size_t, std::span<const float> one, std::span<float> to) {
          round_tensor(params, parts.shape, one, to);
        });
      } else {
        round_tensor(params, in.shape, from, out);
      }
      from = out;
    }
  }
};

struct ObserveKernel final : SlotAttributes {
  void compute(OrtKernelContext* context) const override {
    const Input in = input(context, 0);
    const std::span<Recorder> recorders = current_recorders();
    if (!recorders.empty() && slot < recorders.front().ranges.size()) {
      const SampleParts parts = parts_in_run(in.shape);
      std::vector<float> room;
      for (std::size_t i = 0; i < recorders.size(); ++i) {
        Recorder& recorder = recorders[i];
        const std::span<const float> values = gathered(in.values, parts, i, room);
        recorder.shapes[slot] = parts.shape;
        if (recorder.histograms != nullptr && recorder.histograms->wants(slot)) {
          recorder.ranges[slot] += recorder.histograms->add(slot, recorder.sample, values);
        } else {
          accumulate_range(values, recorder.ranges[slot]);
        }
      }
    }
    pass(context, 0, in);
  }
};

struct CompareKernel final : CompareAttributes {
  void compute(OrtKernelContext* context) const override {
    const Input ref = input(context, 0);
    const Input got = input(context, 1);
    const std::span<Recorder> recorders = recorders_of(ref, got);
    if (!recorders.empty() && slot < recorders.front().errors.size()) {
      const SampleParts parts = parts_in_run(ref.shape);
      std::vector<float> room, other_room;
      for (std::size_t i = 0; i < recorders.size(); ++i) {
        Recorder& recorder = recorders[i];
        const std::span<const float> exact = gathered(ref.values, parts, i, room);
        const std::span<const float> tested = gathered(got.values, parts, i, other_room);
        if (rounds) {
          accumulate_error_of_rounded(
              exact, tested, *rounds, recorder.errors[slot],
              counts_into(recorder.events.size()) ? &recorder.events[static_cast<std::size_t>(event_slot)] : nullptr);
        } else {
          accumulate_error(exact, tested, recorder.errors[slot]);
        }
        recorder.shapes[slot] = parts.shape;
      }
    }
    pass(context, 0, ref);
    std::size_t outputs = 0;
    check(api->KernelContext_GetOutputCount(context, &outputs));
    if (outputs > 1) pass(context, 1, got);
  }
};

struct InjectKernel final : InjectAttributes {
  void compute(OrtKernelContext* context) const override {
    const Input in = input(context, 0);
    const Tensor* const other = injected(in.shape);
    if (other == nullptr) return pass(context, 0, in);
    std::ranges::copy(other->floats(), output(context, 0, in).begin());
  }
};

std::vector<Operator> cpu_operators(const OrtApi& api) {
  return {
      make_operator<RoundKernel>(api, "Round", 2, 1),           make_operator<ObserveKernel>(api, "Observe", 1, 1),
      make_operator<CompareKernel>(api, "Compare", 2, 2),       make_operator<InjectKernel>(api, "Inject", 1, 1),
      make_operator<AccumulateKernel>(api, "Accumulate", 2, 1), make_operator<Tf32Kernel>(api, "Tf32", 1, 1),
      make_operator<SwitchKernel>(api, "Switch", 2, 1),         make_operator<PairSumsKernel>(api, "PairSums", 2, 1)};
}

}  // namespace

void register_operators(const Runtime& runtime, OrtSessionOptions* options) {
  runtime.check(runtime.api().AddCustomOpDomain(options, domain_of(runtime, kDomain, &cpu_operators)));
}

}  // namespace vernier
