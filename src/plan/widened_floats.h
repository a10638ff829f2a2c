// Constants in float16 and bfloat16 as float32.
#pragma once

#include <onnx/onnx_pb.h>

#include <optional>

#include "numerics/round.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier {

/// float16 or bfloat16; absent for other types.
std::optional<Format> low_float(Dtype dtype);

/// Of a format without a scale.
QuantParams grid_of(Format format);

/// The same values. `low`: of a type that low_float() knows.
Tensor widened(const Tensor& low);

/// Tensors among its attributes, and a low `dtype` that it makes.
void widen_attributes(onnx::NodeProto& node);

}  // namespace vernier
