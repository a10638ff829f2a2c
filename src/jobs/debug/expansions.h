// Operators that exporters and quantizers write with others, or others with them.
#pragma once

#include <onnx/onnx_pb.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/model.h"

namespace vernier {

/// Of the nodes of a layer that have no twin, those of the float model and those of the file, without the operators
/// that one of them writes with others of the other: HardSwish, and HardSigmoid with a Mul.
std::pair<std::vector<const onnx::NodeProto*>, std::vector<const onnx::NodeProto*>> without_expansions(
    std::vector<const onnx::NodeProto*> lost, std::vector<const onnx::NodeProto*> added);

/// Of the same nodes: an activation that one of them holds in a FusedConv, with another parameter than the other's. The
/// node of the file, and what differs there in words.
struct OtherActivation {
  const onnx::NodeProto* node = nullptr;
  std::string text;
};
std::optional<OtherActivation> other_activation(const std::vector<const onnx::NodeProto*>& lost,
                                                const std::vector<const onnx::NodeProto*>& added);

/// Normalizes over a layer, instance or group, with an epsilon; BatchNormalization is folded by exporters.
bool is_norm(const onnx::NodeProto& node);

/// Of several normalizations and the pieces of fewer, the nearest to the layer's result first: drops the pieces, and as
/// many of the nearest. Those that are left are missing: a layer in front of them would be matched. False: there are
/// not several, or no pieces, and nothing is dropped.
bool drop_norms_in_pieces(std::vector<const onnx::NodeProto*>& norms, std::vector<const onnx::NodeProto*>& pieces);

/// What a normalization among `nodes` adds to the variance, and the node that has it: by an attribute, or as the
/// constant of an Add in front of a root. Absent: none, or several.
struct Epsilon {
  const onnx::NodeProto* node = nullptr;
  float value = 0;
};
std::optional<Epsilon> epsilon_in(const Model& model, const std::vector<const onnx::NodeProto*>& nodes);

}  // namespace vernier
