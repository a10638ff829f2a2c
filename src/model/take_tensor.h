// The values of a message as a tensor, for readers that drop the message: large weights are not copied.
#pragma once

#include "model/model.h"
#include "vernier/tensor.h"

namespace vernier {

/// As tensor_of(), but raw data leave `proto` and are the tensor's bytes. Errors: as tensor_of(), with `proto` as it
/// was.
Tensor take_tensor(onnx::TensorProto& proto);

}  // namespace vernier
