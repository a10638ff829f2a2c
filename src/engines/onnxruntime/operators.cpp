#include "engines/onnxruntime/operators.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
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

struct RoundKernel final : RoundAttributes {
  void compute(OrtKernelContext* context) const override {
    const Input in = input(context, 0);
    const std::span<float> out = output(context, 0, in);
    const std::span<Recorder> recorders = current_recorders();
    const auto place = static_cast<std::size_t>(slot);
    const bool of_weight = params.block > 0 && !params.dynamic;
    const bool counts = slot >= 0 && !of_weight && !recorders.empty() && place < recorders.front().events.size();
    if (!counts && (!params.dynamic || of_weight)) return round_tensor(params, in.shape, in.values, out);
    const std::size_t samples = std::max<std::size_t>(1, recorders.size());
    for (std::size_t i = 0; i < samples; ++i) {
      const Input one = part(in, i, samples);
      round_tensor(params, one.shape, one.values, part(out, i, samples),
                   counts ? &recorders[i].events[place] : nullptr);
    }
  }
};

struct AccumulateKernel final : AccumulateAttributes {
  void compute(OrtKernelContext* context) const override {
    const Input in = input(context, 0);
    const std::span<float> out = output(context, 0, in);
    // What is added hangs on the place within a sample.
    const std::size_t samples = std::max<std::size_t>(1, current_recorders().size());
    const auto [channels, inner, rows, rounded] = sums_of(in.shape, samples);
    for (std::size_t i = 0; i < samples; ++i) {
      add_sum_noise(channels, inner, rounded, seed, part(in, i, samples).values, part(out, i, samples));
    }
    std::size_t inputs = 0;
    check(api->KernelContext_GetInputCount(context, &inputs));
    if (inputs < 2) return;
    const std::span<const float> bias = input(context, 1).values;
    check_bias(bias.size(), channels);
    if (rows >= 2) round_to(params, out, out);
    for (std::size_t first = 0; first < out.size();) {
      for (const float addend : bias) {
        for (const std::size_t end = first + static_cast<std::size_t>(inner); first < end; ++first)
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
      // Scales of a run are those of its sample.
      const std::size_t samples = params.dynamic ? recorders.size() : 1;
      Input rounded{from, in.shape};
      for (std::size_t i = 0; i < samples; ++i) {
        const Input one = part(rounded, i, samples);
        round_tensor(params, one.shape, one.values, part(out, i, samples));
      }
      from = out;
    }
  }
};

struct ObserveKernel final : SlotAttributes {
  void compute(OrtKernelContext* context) const override {
    const Input in = input(context, 0);
    const std::span<Recorder> recorders = current_recorders();
    for (std::size_t i = 0; i < recorders.size() && slot < recorders[i].ranges.size(); ++i) {
      Recorder& recorder = recorders[i];
      const Input one = part(in, i, recorders.size());
      accumulate_range(one.values, recorder.ranges[slot]);
      recorder.shapes[slot] = one.shape;
      if (recorder.histograms != nullptr) recorder.histograms->add(slot, recorder.sample, one.values);
    }
    pass(context, 0, in);
  }
};

struct CompareKernel final : CompareAttributes {
  void compute(OrtKernelContext* context) const override {
    const Input ref = input(context, 0);
    const Input got = input(context, 1);
    check_shapes(ref, got);
    const std::span<Recorder> recorders = current_recorders();
    for (std::size_t i = 0; i < recorders.size() && slot < recorders[i].errors.size(); ++i) {
      const Input one = part(ref, i, recorders.size());
      const std::span<const float> tested = part(got.values, i, recorders.size());
      if (rounds) {
        const bool counts = counts_into(recorders[i].events.size());
        accumulate_error_of_rounded(one.values, tested, *rounds, recorders[i].errors[slot],
                                    counts ? &recorders[i].events[static_cast<std::size_t>(event_slot)] : nullptr);
      } else {
        accumulate_error(one.values, tested, recorders[i].errors[slot]);
      }
      recorders[i].shapes[slot] = one.shape;
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
      make_operator<SwitchKernel>(api, "Switch", 1, 1),         make_operator<PairSumsKernel>(api, "PairSums", 2, 1)};
}

}  // namespace

void register_operators(const Runtime& runtime, OrtSessionOptions* options) {
  runtime.check(runtime.api().AddCustomOpDomain(options, domain_of(runtime, kDomain, &cpu_operators)));
}

}  // namespace vernier
