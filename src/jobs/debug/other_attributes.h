// Attributes of a node of a quantized file against those of its twin in the float model.
#pragma once

#include <onnx/onnx_pb.h>

#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace vernier {

/// "alpha 0.3, in the float model 0.1"; empty: no attribute that both have differs. `but`: those that may differ.
std::string other_attribute(const onnx::NodeProto& ref, const onnx::NodeProto& low,
                            const std::set<std::string_view>& but = {});

/// `low` with the numbers that `ref` has in its attributes (epsilon, alpha); nullopt: both have the same ones.
std::optional<onnx::NodeProto> with_other_numbers(const onnx::NodeProto& ref, const onnx::NodeProto& low,
                                                  const std::set<std::string_view>& but);

/// Whether what differs only says along which axes values lie: a Transpose moved to another place changes that, too.
bool differs_in_axes_alone(const onnx::NodeProto& ref, const onnx::NodeProto& low);

/// "no group, in the float model 8", or the other way round; empty: what only one of them has is what ONNX means
/// without it, in `opset`.
std::string lone_attribute(const onnx::NodeProto& ref, const onnx::NodeProto& low, int opset,
                           const std::set<std::string_view>& but = {});

}  // namespace vernier
