#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/text.h"
#include "model/model.h"
#include "model/stripped_weights.h"
#include "model/take_tensor.h"
#include "model/type_protos.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

[[noreturn]] void refuse(const onnx::TensorProto& proto, const std::string& why) {
  throw Error(ErrorCode::InvalidModel, fmt::format("tensor '{}': {}", printable(proto.name()), why));
}

std::size_t count_of(const onnx::TensorProto& proto, const Shape& shape) {
  try {
    return static_cast<std::size_t>(element_count(shape));
  } catch (const Error& error) {
    refuse(proto, error.what());
  }
}

// Elements that ONNX keeps in a repeated field of wider integers: narrowed one by one.
template <class Narrow, class Field>
void narrow_into(const Field& field, std::span<std::byte> bytes) {
  for (int i = 0; i < field.size(); ++i) {
    const auto value = static_cast<Narrow>(field.Get(i));
    std::memcpy(bytes.data() + static_cast<std::size_t>(i) * sizeof(Narrow), &value, sizeof(Narrow));
  }
}

/// Values in the field that onnx.proto gives this element type; what stands in others belongs to no element.
std::size_t typed_count(const onnx::TensorProto& proto, Dtype dtype) {
  switch (dtype) {
    case Dtype::Float32:
      return static_cast<std::size_t>(proto.float_data_size());
    case Dtype::Float64:
      return static_cast<std::size_t>(proto.double_data_size());
    case Dtype::Int64:
      return static_cast<std::size_t>(proto.int64_data_size());
    case Dtype::UInt64:
    case Dtype::UInt32:
      return static_cast<std::size_t>(proto.uint64_data_size());
    default:
      return static_cast<std::size_t>(proto.int32_data_size());
  }
}

void fill_typed(const onnx::TensorProto& proto, Tensor& tensor) {
  const std::span<std::byte> bytes = tensor.mutable_bytes();
  switch (tensor.dtype()) {
    case Dtype::Float32:
      return narrow_into<float>(proto.float_data(), bytes);
    case Dtype::Float64:
      return narrow_into<double>(proto.double_data(), bytes);
    case Dtype::Int64:
      return narrow_into<std::int64_t>(proto.int64_data(), bytes);
    case Dtype::Int32:
      return narrow_into<std::int32_t>(proto.int32_data(), bytes);
    case Dtype::UInt64:
      return narrow_into<std::uint64_t>(proto.uint64_data(), bytes);
    case Dtype::UInt32:
      return narrow_into<std::uint32_t>(proto.uint64_data(), bytes);
    case Dtype::Int16:
      return narrow_into<std::int16_t>(proto.int32_data(), bytes);
    case Dtype::UInt16:
    case Dtype::Float16:
    case Dtype::BFloat16:
      return narrow_into<std::uint16_t>(proto.int32_data(), bytes);
    default:
      return narrow_into<std::uint8_t>(proto.int32_data(), bytes);
  }
}

struct Form {
  Dtype dtype;
  Shape shape;
  std::size_t byte_size;
};

/// Sizes are compared before memory is taken: a file of a few bytes may declare terabytes.
Form checked_form(const onnx::TensorProto& proto) {
  const auto dtype = static_cast<Dtype>(proto.data_type());
  if (dtype_bits(dtype) == 0) refuse(proto, unread_type_text(proto.data_type()));
  Shape shape(proto.dims().begin(), proto.dims().end());
  const auto count = count_of(proto, shape);
  const std::size_t byte_size = (count * static_cast<std::size_t>(dtype_bits(dtype)) + 7) / 8;
  if (is_stripped(proto) && byte_size > 0) {
    throw Error(ErrorKind::Input, fmt::format("tensor '{}': its values are stripped", printable(proto.name())),
                "‹vernier surgeon weight-reconstruct MODEL -o FILE.onnx› makes values up");
  }
  if (proto.has_raw_data() && proto.raw_data().size() != byte_size) {
    refuse(proto, fmt::format("shape {} of {} needs {} bytes, the file holds {}", shape_text(shape), dtype_name(dtype),
                              byte_size, proto.raw_data().size()));
  }
  const std::size_t expected = dtype_bits(dtype) == 4 ? byte_size : count;
  if (!proto.has_raw_data() && typed_count(proto, dtype) != expected) {
    refuse(proto, fmt::format("shape {} of {} needs {} values, the file holds {}", shape_text(shape), dtype_name(dtype),
                              expected, typed_count(proto, dtype)));
  }
  return {dtype, std::move(shape), byte_size};
}

}  // namespace

Tensor tensor_of(const onnx::TensorProto& proto) {
  const Form form = checked_form(proto);
  Tensor tensor(form.dtype, form.shape);
  if (!proto.has_raw_data()) {
    fill_typed(proto, tensor);
  } else if (form.byte_size != 0) {
    std::memcpy(tensor.mutable_bytes().data(), proto.raw_data().data(), form.byte_size);
  }
  return tensor;
}

Tensor take_tensor(onnx::TensorProto& proto) {
  if (!proto.has_raw_data()) return tensor_of(proto);
  Form form = checked_form(proto);
  const std::shared_ptr<const std::string> owner(proto.release_raw_data());
  return {form.dtype, std::move(form.shape), {owner, reinterpret_cast<const std::byte*>(owner->data())}};
}

onnx::TensorProto proto_of(const Tensor& tensor, const std::string& name) {
  onnx::TensorProto proto;
  proto.set_name(name);
  proto.set_data_type(static_cast<int>(tensor.dtype()));
  for (const std::int64_t dim : tensor.shape()) proto.add_dims(dim);
  proto.set_raw_data(tensor.bytes().data(), tensor.byte_size());
  return proto;
}

}  // namespace vernier
