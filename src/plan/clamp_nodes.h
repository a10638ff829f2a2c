// What a Q/DQ pair does to values apart from rounding them: min(max(x, low end), high end) of its grid, as nodes.
#pragma once

#include <onnx/onnx_pb.h>

#include <functional>
#include <string>
#include <vector>

#include "plan/simulate_typed.h"
#include "vernier/tensor.h"

namespace vernier {

/// Nodes from `pair.tensor` to `pair.output`, the last under the name of the DequantizeLinear: a Relu where the only
/// end is 0, else a Clip; a Max and a Min where each index of an axis has its own ends. `clamp` has an end, and with
/// several scales the rank of the tensor is known. `constant` adds an initializer.
std::vector<onnx::NodeProto> clamp_nodes(const QuantizedTensor& pair, Clamp clamp, int opset,
                                         const std::function<void(const std::string&, const Tensor&)>& constant);

}  // namespace vernier
