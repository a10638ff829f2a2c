#include "engines/onnxruntime/operator_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <numeric>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "engines/onnxruntime/operators.h"
#include "engines/onnxruntime/recorder.h"
#include "engines/onnxruntime/runtime.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

constexpr int kNewestVersion = 1'000'000;
constexpr std::int64_t kMany = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kFewRows = 16, kMostInParts = 40;

/// Of a matrix, or of all in a stack of them.
std::int64_t rows_of(std::span<const std::int64_t> shape) {
  return std::accumulate(shape.begin(), shape.end() - 1, std::int64_t{1}, std::multiplies<>());
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

/// Whether the runtime can be told this shape. It would write an unknown dimension without a name down as -1 and then
/// compute with that; and unknown shapes look like scalars here, so that nothing is said of either.
OrtStatusPtr tell_whether_known(const OrtApi& api, const OrtTensorTypeAndShapeInfo* info, bool& known) {
  known = false;
  std::size_t rank = 0;
  if (OrtStatus* status = api.GetDimensionsCount(info, &rank)) return status;
  if (rank == 0) return nullptr;
  std::vector<std::int64_t> sizes(rank);
  std::vector<const char*> symbols(rank);
  if (OrtStatus* status = api.GetDimensions(info, sizes.data(), rank)) return status;
  if (OrtStatus* status = api.GetSymbolicDimensions(info, symbols.data(), rank)) return status;
  known = true;
  for (std::size_t i = 0; i < rank; ++i) {
    const bool named = symbols[i] != nullptr && *symbols[i] != '\0';
    known = known && (sizes[i] >= 0 || named);
  }
  return nullptr;
}

/// How many outputs the node has: the second one of Compare may be absent. ONNX Runtime before 1.28 writes beyond its
/// memory where a shape is set for an output that the node has not.
std::size_t outputs_of_node(const OrtApi& api, const OrtShapeInferContext* context, std::size_t most) {
  if (most < 2) return most;
  const OrtOpAttr* second = nullptr;
  OrtStatus* status = api.ShapeInferContext_GetAttribute(context, kSecondOutput, &second);
  if (status != nullptr) api.ReleaseStatus(status);
  return status == nullptr && second != nullptr ? most : 1;
}

OrtStatusPtr keep_shapes(const OrtCustomOp* op, OrtShapeInferContext* context) {
  const auto* self = static_cast<const Operator*>(op);
  const OrtApi& api = *self->shapes;
  const std::size_t outputs = outputs_of_node(api, context, self->outputs);
  for (std::size_t i = 0; i < outputs; ++i) {
    OrtTensorTypeAndShapeInfo* info = nullptr;
    if (OrtStatus* status = api.ShapeInferContext_GetInputTypeShape(context, i, &info)) return status;
    bool known = false;
    if (OrtStatus* status = tell_whether_known(api, info, known)) return status;
    if (!known) continue;
    if (OrtStatus* status = api.ShapeInferContext_SetOutputTypeShape(context, i, info)) return status;
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

}  // namespace

Extent extent_of(const QuantParams& params, const Shape& shape, std::size_t count) {
  if (params.axis < 0) return {1, static_cast<std::int64_t>(count)};
  Extent extent{shape.at(static_cast<std::size_t>(params.axis)), 1};
  for (std::size_t i = static_cast<std::size_t>(params.axis) + 1; i < shape.size(); ++i) extent.inner *= shape[i];
  return extent;
}

SampleParts parts_in_run(const Shape& shape) {
  const std::span<Recorder> recorders = current_recorders();
  const std::size_t samples = std::max<std::size_t>(1, recorders.size());
  SampleParts parts{samples, 1, 1, shape};
  std::size_t axis = 0;
  const auto count = static_cast<std::int64_t>(samples);
  while (samples > 1 && axis < shape.size() && (shape[axis] == 0 || shape[axis] % count != 0)) ++axis;
  if (samples > 1 && axis == shape.size()) {
    throw Error(ErrorCode::RuntimeFails,
                fmt::format("a tensor of shape {} holds no batch of {}", shape_text(shape), samples));
  }
  if (samples > 1) parts.shape[axis] /= count;
  const std::set<Shape>* const taking_turns = recorders.empty() ? nullptr : recorders.front().taking_turns;
  const bool turns = samples > 1 && taking_turns != nullptr && taking_turns->contains(parts.shape);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    (i < axis || (i == axis && turns) ? parts.outer : parts.inner) *= static_cast<std::size_t>(parts.shape[i]);
  }
  return parts;
}

void RoundAttributes::create(const OrtKernelInfo* info) {
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

void AccumulateAttributes::create(const OrtKernelInfo* info) {
  params.format = format_attribute(info);
  roundings = int_attribute(info, "roundings");
  product = int_attribute(info, "product") != 0;
  seed = static_cast<std::uint32_t>(int_attribute(info, "seed"));
}

AccumulateAttributes::Sums AccumulateAttributes::sums_of(const Shape& shape) const {
  if (shape.size() < 2) throw Error(ErrorCode::RuntimeFails, "Accumulate: the sums have no channels");
  Sums sums{.channels = shape[1]};
  for (std::size_t i = 2; i < shape.size(); ++i) sums.inner *= shape[i];
  sums.rows = product ? rows_of(shape) : kMany;
  sums.roundings = sums.rows < 2 ? 1 : sums.rows <= kFewRows ? std::min(roundings, kMostInParts) : roundings;
  return sums;
}

void AccumulateAttributes::check_bias(std::size_t size, std::int64_t channels) {
  if (!std::cmp_equal(size, channels)) throw Error(ErrorCode::RuntimeFails, "Accumulate: no bias of that shape");
}

void CompareAttributes::create(const OrtKernelInfo* info) {
  SlotAttributes::create(info);
  std::size_t size = 0;
  if (!present(api->KernelInfoGetAttribute_string(info, "format", nullptr, &size))) return;
  rounds.emplace().format = format_attribute(info);
  event_slot = int_attribute(info, "event_slot");
}

std::span<Recorder> CompareAttributes::recorders_of(const Input& ref, const Input& got) {
  return ref.shape == got.shape ? current_recorders() : std::span<Recorder>();
}

const Tensor* InjectAttributes::injected(const Shape& shape) const {
  const std::span<Recorder> recorders = current_recorders();
  if (recorders.empty()) return nullptr;
  const auto& injections = recorders.front().injections;
  const auto chosen = injections.find(static_cast<std::int64_t>(slot));
  if (chosen == injections.end()) return nullptr;
  if (chosen->second.shape() != shape) throw Error(ErrorKind::Internal, "Inject: another shape is expected");
  return &chosen->second;
}

Operator operator_without_kernel(const OrtApi& api, const char* name, std::size_t inputs, std::size_t outputs,
                                 const char* provider) {
  Operator op;
  std::memset(static_cast<OrtCustomOp*>(&op), 0, sizeof(OrtCustomOp));
  op.name = name;
  op.inputs = inputs;
  op.outputs = outputs;
  op.provider = provider;
  op.shapes = &api;
  op.version = ORT_API_VERSION;
  op.GetName = [](const OrtCustomOp* self) { return static_cast<const Operator*>(self)->name; };
  op.GetExecutionProviderType = [](const OrtCustomOp* self) { return static_cast<const Operator*>(self)->provider; };
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

OrtCustomOpDomain* domain_of(const Runtime& runtime, const char* name, std::vector<Operator> (*make)(const OrtApi&)) {
  struct Domain {
    std::vector<Operator> operators;
    OrtCustomOpDomain* domain = nullptr;
  };
  static std::mutex mutex;
  static auto& made = *new std::map<std::pair<const OrtApi*, void*>, Domain>;
  const std::lock_guard lock(mutex);
  const OrtApi& api = runtime.api();
  Domain& wanted = made[{&api, reinterpret_cast<void*>(make)}];
  if (wanted.domain == nullptr) {
    wanted.operators = make(api);
    runtime.check(api.CreateCustomOpDomain(name, &wanted.domain));
    for (Operator& op : wanted.operators) runtime.check(api.CustomOpDomain_Add(wanted.domain, &op));
  }
  return wanted.domain;
}

}  // namespace vernier
