#include "io/tensor_proto.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <cstddef>
#include <limits>

#include "base/refuse.h"
#include "model/model.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {

NamedTensor read_tensor_proto(std::span<const std::byte> file, const std::string& where) {
  onnx::TensorProto proto;
  if (file.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()) ||
      !proto.ParseFromArray(file.data(), static_cast<int>(file.size()))) {
    refuse(ErrorCode::SampleFile, where, "is not a serialized ONNX tensor");
  }
  if (proto.data_location() == onnx::TensorProto::EXTERNAL) {
    refuse(ErrorCode::SampleFile, where, "keeps its data in another file, which is not followed");
  }
  const auto dtype = static_cast<Dtype>(proto.data_type());
  if (dtype == Dtype::Undefined || dtype_bits(dtype) < 8) {
    refuse(ErrorCode::SampleFile, where,
           fmt::format("has the element type {} ({}), which no input takes from a file", proto.data_type(),
                       dtype_name(dtype)));
  }
  try {
    return {proto.name(), tensor_of(proto)};
  } catch (const Error& error) {
    refuse(ErrorCode::SampleFile, where, error.what());
  }
}

}  // namespace vernier
