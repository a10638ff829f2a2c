// Reads an array from a serialized ONNX TensorProto, the content of input_<i>.pb files.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "vernier/tensor.h"

namespace vernier {

/// Errors: Input, starting with `where`: no TensorProto, data kept in another file, strings, or a number of values that
/// is not what the dimensions say. Memory: the file's size a few times over; dimensions alone take none. Source:
/// onnx.proto, TensorProto.
NamedTensor read_tensor_proto(std::span<const std::byte> file, const std::string& where);

}  // namespace vernier
