#include "io/tensor_proto.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <cstring>
#include <limits>

#include "base/refuse.h"
#include "base/text.h"
#include "vernier/error.h"

namespace vernier {
namespace {

using onnx::TensorProto;

// Element type as stored in the field -> as stored in the tensor; 4-bit types are packed by their writers already.
template <class To, class Field>
void copy_field(const Field& field, std::span<std::byte> out) {
  for (int i = 0; i < field.size(); ++i) {
    const auto value = static_cast<To>(field.Get(i));
    std::memcpy(out.data() + static_cast<std::size_t>(i) * sizeof(To), &value, sizeof(To));
  }
}

bool is_supported(Dtype dtype) { return dtype != Dtype::Undefined && dtype_bits(dtype) >= 8; }

// How many values the typed field for this element type holds.
int field_size(const TensorProto& proto, Dtype dtype) {
  switch (dtype) {
    case Dtype::Float32:
      return proto.float_data_size();
    case Dtype::Float64:
      return proto.double_data_size();
    case Dtype::Int64:
      return proto.int64_data_size();
    case Dtype::UInt32:
    case Dtype::UInt64:
      return proto.uint64_data_size();
    default:
      return proto.int32_data_size();
  }
}

void copy_typed(const TensorProto& proto, Dtype dtype, std::span<std::byte> out) {
  switch (dtype) {
    case Dtype::Float32:
      return copy_field<float>(proto.float_data(), out);
    case Dtype::Float64:
      return copy_field<double>(proto.double_data(), out);
    case Dtype::Int64:
      return copy_field<std::int64_t>(proto.int64_data(), out);
    case Dtype::UInt64:
      return copy_field<std::uint64_t>(proto.uint64_data(), out);
    case Dtype::UInt32:
      return copy_field<std::uint32_t>(proto.uint64_data(), out);
    case Dtype::Int32:
      return copy_field<std::int32_t>(proto.int32_data(), out);
    default:
      break;
  }
  if (dtype_bits(dtype) == 16) return copy_field<std::uint16_t>(proto.int32_data(), out);
  copy_field<std::uint8_t>(proto.int32_data(), out);
}

}  // namespace

NamedTensor read_tensor_proto(std::span<const std::byte> file, const std::string& where) {
  TensorProto proto;
  if (file.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()) ||
      !proto.ParseFromArray(file.data(), static_cast<int>(file.size()))) {
    refuse(where, "is not a serialized ONNX tensor");
  }
  if (proto.data_location() == TensorProto::EXTERNAL)
    refuse(where, "keeps its data in another file, which is not followed");
  const auto dtype = static_cast<Dtype>(proto.data_type());
  if (!is_supported(dtype)) {
    refuse(where, fmt::format("has the element type {} ({}), which no input takes from a file", proto.data_type(),
                              dtype_name(dtype)));
  }
  const Shape shape(proto.dims().begin(), proto.dims().end());
  std::int64_t count = 0;
  try {
    count = element_count(shape);
  } catch (const Error& error) {
    refuse(where, error.what());
  }
  const std::size_t width = static_cast<std::size_t>(dtype_bits(dtype)) / 8;
  const bool raw = proto.has_raw_data();
  const std::size_t values = raw ? proto.raw_data().size() / width : static_cast<std::size_t>(field_size(proto, dtype));
  if (values != static_cast<std::size_t>(count) || (raw && proto.raw_data().size() % width != 0)) {
    refuse(where, fmt::format("its dimensions {} promise {} values of {}, it holds {}", shape_text(shape), count,
                              dtype_name(dtype), values));
  }
  NamedTensor named{proto.name(), Tensor(dtype, shape)};
  const std::span<std::byte> out = named.tensor.mutable_bytes();
  if (!raw) {
    copy_typed(proto, dtype, out);
  } else if (!out.empty()) {
    std::memcpy(out.data(), proto.raw_data().data(), out.size());
  }
  return named;
}

}  // namespace vernier
