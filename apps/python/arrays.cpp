#include "arrays.h"

#include <fmt/format.h>

#include <cstddef>
#include <memory>
#include <optional>

#include "vernier/error.h"
#include "vernier/error_code.h"

namespace nb = nanobind;

namespace vernier::python {

Tensor tensor_of(const Array& array) {
  const auto& [bytes, shape, type] = array;
  const std::optional<Dtype> dtype = find_dtype(type);
  if (!dtype || dtype_bits(*dtype) < 8) {
    throw Error(ErrorCode::SampleValues, fmt::format("arrays of {} cannot be read", type),
                "float32, float16, bfloat16, float64, bool and integers of 8 to 64 bits can");
  }
  const std::size_t wanted =
      static_cast<std::size_t>(element_count(shape)) * static_cast<std::size_t>(dtype_bits(*dtype)) / 8;
  if (bytes.size() != wanted) {
    throw Error(ErrorCode::SampleValues, fmt::format("an array of {} and shape {} takes {} bytes, {} were given", type,
                                                     shape_text(shape), wanted, bytes.size()));
  }
  const auto owner = std::make_shared<const Bytes>(bytes);
  return {*dtype, shape, std::shared_ptr<const std::byte>(owner, reinterpret_cast<const std::byte*>(owner->data()))};
}

std::map<std::string, Tensor> tensors_of(const Arrays& arrays) {
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, array] : arrays) tensors.emplace(name, tensor_of(array));
  return tensors;
}

nb::object array_of(const Tensor& tensor) {
  auto* const kept = new Tensor(tensor);
  const nb::capsule owner(kept, [](void* held) noexcept { delete static_cast<Tensor*>(held); });
  const auto* const data = reinterpret_cast<const std::uint8_t*>(kept->bytes().data());
  const nb::ndarray<nb::numpy, const std::uint8_t, nb::ndim<1>> bytes(data, {kept->byte_size()}, owner);
  return nb::make_tuple(bytes, nb::cast(tensor.shape()), std::string(dtype_name(tensor.dtype())));
}

nb::dict arrays_of(const std::map<std::string, Tensor>& tensors) {
  nb::dict arrays;
  for (const auto& [name, tensor] : tensors) arrays[name.c_str()] = array_of(tensor);
  return arrays;
}

}  // namespace vernier::python
