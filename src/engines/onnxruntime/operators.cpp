#include "engines/onnxruntime/operators.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "engines/onnxruntime/kernel.h"
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

struct RoundKernel final : Kernel {
  QuantParams params;
  std::int64_t slot = -1;

  void create(const OrtKernelInfo* info) {
    std::size_t size = 0;
    params.format = format_attribute(info);
    // The runtime drops empty lists: a format without a scale has none.
    if (present(api->KernelInfoGetAttributeArray_float(info, "scale", nullptr, &size)) && size != 0) {
      params.scale.resize(size);
      check(api->KernelInfoGetAttributeArray_float(info, "scale", params.scale.data(), &size));
    }
    if (present(api->KernelInfoGetAttributeArray_int64(info, "zero_point", nullptr, &size)) && size != 0) {
      std::vector<std::int64_t> zero(size);
      check(api->KernelInfoGetAttributeArray_int64(info, "zero_point", zero.data(), &size));
      params.zero_point.assign(zero.begin(), zero.end());
    }
    params.axis = static_cast<int>(int_attribute(info, "axis"));
    params.block = static_cast<int>(int_attribute(info, "block"));
    params.lowest_code = static_cast<std::int32_t>(int_attribute(info, "lowest_code"));
    params.dynamic = int_attribute(info, "dynamic") != 0;
    slot = int_attribute(info, "slot");
  }

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

/// Of a matrix, or of all in a stack of them.
std::int64_t rows_of(std::span<const std::int64_t> shape) {
  return std::accumulate(shape.begin(), shape.end() - 1, std::int64_t{1}, std::multiplies<>());
}

struct AccumulateKernel final : Kernel {
  static constexpr std::int64_t kMany = std::numeric_limits<std::int64_t>::max();
  static constexpr std::int64_t kFewRows = 16, kMostInParts = 40;

  QuantParams params;
  std::int64_t roundings = 1;
  std::uint32_t seed = 0;
  bool product = false;

  void create(const OrtKernelInfo* info) {
    params.format = format_attribute(info);
    roundings = int_attribute(info, "roundings");
    product = int_attribute(info, "product") != 0;
    seed = static_cast<std::uint32_t>(int_attribute(info, "seed"));
  }

  void compute(OrtKernelContext* context) const override {
    const Input in = input(context, 0);
    const std::span<float> out = output(context, 0, in);
    if (in.shape.size() < 2) throw Error(ErrorKind::Backend, "Accumulate: the sums have no channels");
    const std::int64_t channels = in.shape[1];
    std::int64_t inner = 1;
    for (std::size_t i = 2; i < in.shape.size(); ++i) inner *= in.shape[i];
    // What is added hangs on the place within a sample.
    const std::size_t samples = std::max<std::size_t>(1, current_recorders().size());
    const std::int64_t rows = product ? rows_of(in.shape) / static_cast<std::int64_t>(samples) : kMany;
    const std::int64_t rounded = rows < 2 ? 1 : rows <= kFewRows ? std::min(roundings, kMostInParts) : roundings;
    for (std::size_t i = 0; i < samples; ++i) {
      add_sum_noise(channels, inner, rounded, seed, part(in, i, samples).values, part(out, i, samples));
    }
    std::size_t inputs = 0;
    check(api->KernelContext_GetInputCount(context, &inputs));
    if (inputs < 2) return;
    const std::span<const float> bias = input(context, 1).values;
    if (!std::cmp_equal(bias.size(), channels)) throw Error(ErrorKind::Backend, "Accumulate: no bias of that shape");
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

struct SlotKernel : Kernel {
  std::size_t slot = 0;
  void create(const OrtKernelInfo* info) { slot = static_cast<std::size_t>(int_attribute(info, "slot")); }
};

struct SwitchKernel final : SlotKernel {
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

struct ObserveKernel final : SlotKernel {
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

struct CompareKernel final : SlotKernel {
  std::optional<QuantParams> rounds;  // the tested side, by a format without a scale
  std::int64_t event_slot = -1;

  void create(const OrtKernelInfo* info) {
    SlotKernel::create(info);
    std::size_t size = 0;
    if (!present(api->KernelInfoGetAttribute_string(info, "format", nullptr, &size))) return;
    rounds.emplace().format = format_attribute(info);
    event_slot = int_attribute(info, "event_slot");
  }

  void compute(OrtKernelContext* context) const override {
    const Input ref = input(context, 0);
    const Input got = input(context, 1);
    if (ref.shape != got.shape) {
      throw Error(ErrorKind::Backend, "Compare: the two sides have different shapes, " + shape_text(ref.shape) +
                                          " and " + shape_text(got.shape));
    }
    const std::span<Recorder> recorders = current_recorders();
    for (std::size_t i = 0; i < recorders.size() && slot < recorders[i].errors.size(); ++i) {
      const Input one = part(ref, i, recorders.size());
      const std::span<const float> tested = part(got.values, i, recorders.size());
      if (rounds) {
        const bool counts = event_slot >= 0 && static_cast<std::size_t>(event_slot) < recorders[i].events.size();
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

struct InjectKernel final : SlotKernel {
  void compute(OrtKernelContext* context) const override {
    const Input in = input(context, 0);
    const std::span<Recorder> recorders = current_recorders();
    const auto* const injections = recorders.empty() ? nullptr : &recorders.front().injections;
    const auto chosen =
        injections == nullptr ? decltype(injections->end()){} : injections->find(static_cast<std::int64_t>(slot));
    if (injections == nullptr || chosen == injections->end()) {
      pass(context, 0, in);
      return;
    }
    if (chosen->second.shape() != in.shape) throw Error(ErrorKind::Internal, "Inject: another shape is expected");
    const std::span<float> out = output(context, 0, in);
    const std::span<const float> injected = chosen->second.floats();
    std::memcpy(out.data(), injected.data(), injected.size_bytes());
  }
};

// One C table entry per operator, filled from its kernel class and its arity.
struct Operator : OrtCustomOp {
  const char* name = "";
  std::size_t inputs = 1;
  std::size_t outputs = 1;
};

constexpr int kNewestVersion = 1'000'000;

template <class K>
OrtStatusPtr create_kernel(const OrtCustomOp*, const OrtApi* api, const OrtKernelInfo* info, void** kernel) {
  try {
    auto made = std::make_unique<K>();
    made->api = api;
    made->create(info);
    *kernel = static_cast<Kernel*>(made.release());
    return nullptr;
  } catch (const std::exception& failure) {
    return api->CreateStatus(ORT_FAIL, failure.what());
  }
}

OrtStatusPtr compute_kernel(void* raw, OrtKernelContext* context) {
  const auto* kernel = static_cast<const Kernel*>(raw);
  try {
    kernel->compute(context);
    return nullptr;
  } catch (const std::exception& failure) {
    return kernel->api->CreateStatus(ORT_FAIL, failure.what());
  }
}

const OrtApi* shape_api = nullptr;  // InferOutputShapeFn receives no table

/// Whether the runtime can be told this shape. It would write an unknown dimension without a name down as -1 and then
/// compute with that; and unknown shapes look like scalars here, so that nothing is said of either.
OrtStatusPtr tell_whether_known(const OrtTensorTypeAndShapeInfo* info, bool& known) {
  known = false;
  std::size_t rank = 0;
  if (OrtStatus* status = shape_api->GetDimensionsCount(info, &rank)) return status;
  if (rank == 0) return nullptr;
  std::vector<std::int64_t> sizes(rank);
  std::vector<const char*> symbols(rank);
  if (OrtStatus* status = shape_api->GetDimensions(info, sizes.data(), rank)) return status;
  if (OrtStatus* status = shape_api->GetSymbolicDimensions(info, symbols.data(), rank)) return status;
  known = true;
  for (std::size_t i = 0; i < rank; ++i) {
    const bool named = symbols[i] != nullptr && *symbols[i] != '\0';
    known = known && (sizes[i] >= 0 || named);
  }
  return nullptr;
}

OrtStatusPtr keep_shapes(const OrtCustomOp* op, OrtShapeInferContext* context) {
  const auto* self = static_cast<const Operator*>(op);
  for (std::size_t i = 0; i < self->outputs; ++i) {
    OrtTensorTypeAndShapeInfo* info = nullptr;
    if (OrtStatus* status = shape_api->ShapeInferContext_GetInputTypeShape(context, i, &info)) return status;
    bool known = false;
    if (OrtStatus* status = tell_whether_known(info, known)) return status;
    if (!known) continue;
    // The second output of Compare may be absent: not being able to set it is no failure.
    OrtStatus* status = shape_api->ShapeInferContext_SetOutputTypeShape(context, i, info);
    if (status != nullptr && i == 0) return status;
    if (status != nullptr) shape_api->ReleaseStatus(status);
  }
  return nullptr;
}

size_t one_in_place(int** input_index, int** output_index) {
  *input_index = new int[1]{0};
  *output_index = new int[1]{0};
  return 1;
}

size_t two_in_place(int** input_index, int** output_index) {
  *input_index = new int[2]{0, 1};
  *output_index = new int[2]{0, 1};
  return 2;
}

template <class K>
Operator make_operator(const char* name, std::size_t inputs, std::size_t outputs) {
  Operator op;
  std::memset(static_cast<OrtCustomOp*>(&op), 0, sizeof(OrtCustomOp));
  op.name = name;
  op.inputs = inputs;
  op.outputs = outputs;
  op.version = ORT_API_VERSION;
  op.GetName = [](const OrtCustomOp* self) { return static_cast<const Operator*>(self)->name; };
  op.GetExecutionProviderType = [](const OrtCustomOp*) -> const char* { return nullptr; };
  op.GetInputType = [](const OrtCustomOp*, size_t) { return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT; };
  op.GetOutputType = [](const OrtCustomOp*, size_t) { return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT; };
  op.GetInputTypeCount = [](const OrtCustomOp* self) { return static_cast<const Operator*>(self)->inputs; };
  op.GetOutputTypeCount = [](const OrtCustomOp* self) { return static_cast<const Operator*>(self)->outputs; };
  // The second input of Round and of Accumulate may be absent, and the second output of Compare.
  op.GetInputCharacteristic = [](const OrtCustomOp* self, size_t index) {
    return index == 0 || static_cast<const Operator*>(self)->outputs > 1 ? INPUT_OUTPUT_REQUIRED
                                                                         : INPUT_OUTPUT_OPTIONAL;
  };
  op.GetOutputCharacteristic = [](const OrtCustomOp*, size_t index) {
    return index == 0 ? INPUT_OUTPUT_REQUIRED : INPUT_OUTPUT_OPTIONAL;
  };
  op.GetInputMemoryType = [](const OrtCustomOp*, size_t) { return OrtMemTypeDefault; };
  op.GetVariadicInputMinArity = [](const OrtCustomOp*) { return 1; };
  op.GetVariadicInputHomogeneity = [](const OrtCustomOp*) { return 1; };
  op.GetVariadicOutputMinArity = [](const OrtCustomOp*) { return 1; };
  op.GetVariadicOutputHomogeneity = [](const OrtCustomOp*) { return 1; };
  op.CreateKernelV2 = &create_kernel<K>;
  op.KernelComputeV2 = &compute_kernel;
  op.KernelDestroy = [](void* kernel) { delete static_cast<Kernel*>(kernel); };
  op.InferOutputShapeFn = &keep_shapes;
  op.GetStartVersion = [](const OrtCustomOp*) { return 1; };
  op.GetEndVersion = [](const OrtCustomOp*) { return kNewestVersion; };
  op.GetMayInplace = outputs == 1 ? &one_in_place : &two_in_place;
  op.ReleaseMayInplace = [](int* input_index, int* output_index) {
    delete[] input_index;
    delete[] output_index;
  };
  return op;
}

}  // namespace

void register_operators(const Runtime& runtime, OrtSessionOptions* options) {
  static std::array<Operator, 8> operators{
      make_operator<RoundKernel>("Round", 2, 1),           make_operator<ObserveKernel>("Observe", 1, 1),
      make_operator<CompareKernel>("Compare", 2, 2),       make_operator<InjectKernel>("Inject", 1, 1),
      make_operator<AccumulateKernel>("Accumulate", 2, 1), make_operator<Tf32Kernel>("Tf32", 1, 1),
      make_operator<SwitchKernel>("Switch", 1, 1),         make_operator<PairSumsKernel>("PairSums", 2, 1)};
  static OrtCustomOpDomain* domain = [&] {
    shape_api = &runtime.api();
    OrtCustomOpDomain* made = nullptr;
    runtime.check(runtime.api().CreateCustomOpDomain(kDomain, &made));
    for (Operator& op : operators) runtime.check(runtime.api().CustomOpDomain_Add(made, &op));
    return made;
  }();
  runtime.check(runtime.api().AddCustomOpDomain(options, domain));
}

}  // namespace vernier
