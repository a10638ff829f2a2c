// Constants that a file holds as sparse tensors, as dense ones: every job and every engine reads those.
#pragma once

#include <functional>

#include "model/model.h"

namespace vernier {

/// Reads a tensor, wherever its values lie.
using ReadTensor = std::function<Tensor(const onnx::TensorProto&)>;

/// The sparse initializers and the Constants with `sparse_value` of all graphs and functions become dense.
/// Errors: Input, naming the tensor: indices that do not fit its shape, strings, or more than 1 GiB of all together
/// when dense. Source: onnx.proto, SparseTensorProto.
void make_constants_dense(onnx::ModelProto& proto, const ReadTensor& read);

}  // namespace vernier
