// What our kernels have in common: reading and writing tensors through ONNX Runtime's C API, and their attributes.
#pragma once

#include <onnxruntime_c_api.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier {

/// How the samples of a batch lie in a tensor: [outer, samples, inner], each one having `outer` runs of `inner` values.
struct SampleParts {
  std::size_t samples = 1, outer = 1, inner = 0;
  Shape shape;  // of one sample

  std::size_t values() const noexcept { return outer * inner; }
  /// Each sample's values are one behind the other.
  bool contiguous() const noexcept { return outer == 1; }
  template <class T>
  std::span<T> of(std::span<T> all, std::size_t sample) const {
    return all.subspan(sample * inner, inner);
  }
};

// The kernels reach the C API through the table they were created with; exceptions must not cross it.
struct Kernel {
  const OrtApi* api = nullptr;
  virtual ~Kernel() = default;
  virtual void compute(OrtKernelContext* context) const = 0;

  void check(OrtStatus* status) const {
    if (status == nullptr) return;
    const std::string text = api->GetErrorMessage(status);
    api->ReleaseStatus(status);
    throw Error(ErrorCode::RuntimeFails, text);
  }

  bool present(OrtStatus* status) const {
    if (status == nullptr) return true;
    api->ReleaseStatus(status);
    return false;
  }

  struct Input {
    std::span<const float> values;
    Shape shape;
  };

  Input input(OrtKernelContext* context, std::size_t index) const {
    const OrtValue* value = nullptr;
    check(api->KernelContext_GetInput(context, index, &value));
    OrtTensorTypeAndShapeInfo* info = nullptr;
    check(api->GetTensorTypeAndShape(value, &info));
    std::size_t rank = 0;
    check(api->GetDimensionsCount(info, &rank));
    Input in;
    in.shape.resize(rank);
    check(api->GetDimensions(info, in.shape.data(), rank));
    std::size_t count = 0;
    check(api->GetTensorShapeElementCount(info, &count));
    api->ReleaseTensorTypeAndShapeInfo(info);
    void* data = nullptr;
    check(api->GetTensorMutableData(const_cast<OrtValue*>(value), &data));  // the API has no const form
    in.values = {static_cast<const float*>(data), count};
    return in;
  }

  std::span<float> output(OrtKernelContext* context, std::size_t index, const Input& like) const {
    OrtValue* value = nullptr;
    check(api->KernelContext_GetOutput(context, index, like.shape.data(), like.shape.size(), &value));
    if (value == nullptr) return {};
    void* data = nullptr;
    check(api->GetTensorMutableData(value, &data));
    return {static_cast<float*>(data), like.values.size()};
  }

  /// Passes an input through. Nothing to do when the runtime let the output take the input's place.
  void pass(OrtKernelContext* context, std::size_t index, const Input& in) const {
    const std::span<float> out = output(context, index, in);
    if (!out.empty() && out.data() != in.values.data()) {
      std::memcpy(out.data(), in.values.data(), in.values.size_bytes());
    }
  }

  std::int64_t int_attribute(const OrtKernelInfo* info, const char* name) const {
    std::int64_t value = 0;
    check(api->KernelInfoGetAttribute_int64(info, name, &value));
    return value;
  }

  Format format_attribute(const OrtKernelInfo* info) const {
    std::size_t size = 0;
    check(api->KernelInfoGetAttribute_string(info, "format", nullptr, &size));
    std::string name(size, '\0');
    check(api->KernelInfoGetAttribute_string(info, "format", name.data(), &size));
    name.resize(size - 1);
    return parse_format(name).value();
  }
};

}  // namespace vernier
