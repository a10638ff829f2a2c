// The node that stands for rounding in simulated graphs, and the operator domain of all our operators. The engine
// registers kernels under these names (src/engines/onnxruntime/operators.h).
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <string>

#include "numerics/round.h"

namespace vernier {

inline constexpr const char* kDomain = "vernier";
inline constexpr int kDomainVersion = 1;

/// Round: X (float32) -> Y (float32), same shape. Attributes: format (string), scale (floats), zero_point (ints), axis
/// (int), lowest_code (int), slot (int; -1: events are not recorded).
onnx::NodeProto round_node(const std::string& input, const std::string& output, const QuantParams& params,
                           std::int64_t slot = -1);
/// Reads the attributes back.
QuantParams round_params(const onnx::NodeProto& node);

}  // namespace vernier
