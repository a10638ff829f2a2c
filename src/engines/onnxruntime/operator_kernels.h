// What the kernels of an operator share, on whatever device: their attributes. And how a kernel becomes an operator.
#pragma once

#include <onnxruntime_c_api.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engines/onnxruntime/kernel.h"
#include "engines/onnxruntime/recorder.h"
#include "numerics/round.h"

namespace vernier {

class Runtime;

/// How a tensor is laid out along the axis of its scales.
struct Extent {
  std::int64_t channels = 1;
  std::int64_t inner = 1;
};
Extent extent_of(const QuantParams& params, const Shape& shape, std::size_t count);

/// How the samples of the run lie in a tensor: along the first dimension that their number divides. Errors: Backend
/// where there is none.
SampleParts parts_in_run(const Shape& shape);

struct RoundAttributes : Kernel {
  QuantParams params;
  std::int64_t slot = -1;
  void create(const OrtKernelInfo* info);
};

struct AccumulateAttributes : Kernel {
  QuantParams params;
  std::int64_t roundings = 1;
  std::uint32_t seed = 0;
  bool product = false;
  void create(const OrtKernelInfo* info);

 protected:
  /// How the sums of one sample are laid out, and how often each is rounded.
  struct Sums {
    std::int64_t channels = 1, inner = 1, rows = 0, roundings = 1;
  };
  Sums sums_of(const Shape& shape) const;
  static void check_bias(std::size_t size, std::int64_t channels);
};

struct SlotAttributes : Kernel {
  std::size_t slot = 0;
  void create(const OrtKernelInfo* info) { slot = static_cast<std::size_t>(int_attribute(info, "slot")); }
};

struct CompareAttributes : SlotAttributes {
  std::optional<QuantParams> rounds;  // the tested side, by a format without a scale
  std::int64_t event_slot = -1;
  void create(const OrtKernelInfo* info);

 protected:
  bool counts_into(std::size_t slots) const { return event_slot >= 0 && static_cast<std::size_t>(event_slot) < slots; }
  /// None where the sides have different shapes: the data decide on those (NonZero), and nothing is to be compared.
  static std::span<Recorder> recorders_of(const Input& ref, const Input& got);
};

struct InjectAttributes : SlotAttributes {
 protected:
  /// What the run puts in the place of a tensor of `shape`; null: nothing.
  const Tensor* injected(const Shape& shape) const;
};

/// One C table entry, filled from a kernel class and its arity.
struct Operator : OrtCustomOp {
  const char* name = "";
  std::size_t inputs = 1;
  std::size_t outputs = 1;
  const char* provider = nullptr;  // null: the CPU
  const OrtApi* shapes = nullptr;  // InferOutputShapeFn receives no table
};

/// All of an operator but its kernel.
Operator operator_without_kernel(const OrtApi& api, const char* name, std::size_t inputs, std::size_t outputs,
                                 const char* provider);

/// A domain of these operators for sessions of `runtime`, made once for each library that is loaded.
OrtCustomOpDomain* domain_of(const Runtime& runtime, const char* name, std::vector<Operator> (*make)(const OrtApi&));

template <class K>
OrtStatusPtr create_kernel(const OrtCustomOp* /*op*/, const OrtApi* api, const OrtKernelInfo* info, void** kernel) {
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

template <class K>
Operator make_operator(const OrtApi& api, const char* name, std::size_t inputs, std::size_t outputs,
                       const char* provider = nullptr) {
  Operator op = operator_without_kernel(api, name, inputs, outputs, provider);
  op.CreateKernelV2 = &create_kernel<K>;
  return op;
}

}  // namespace vernier
