// Operators that exporters and quantizers write with others, or others with them.
#pragma once

#include <onnx/onnx_pb.h>

#include <utility>
#include <vector>

namespace vernier {

/// Of the nodes of a layer that have no twin, those of the float model and those of the file, without the operators
/// that one of them writes with others of the other: HardSwish, and HardSigmoid with a Mul.
std::pair<std::vector<const onnx::NodeProto*>, std::vector<const onnx::NodeProto*>> without_expansions(
    const std::vector<const onnx::NodeProto*>& lost, const std::vector<const onnx::NodeProto*>& added);

}  // namespace vernier
