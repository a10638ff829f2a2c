// Which inputs and outputs of a node change type together when it computes in float16 or bfloat16. The one rule behind
// both lowerings and behind the question whether a layer can take such a format.
#pragma once

#include <onnx/onnx_pb.h>

#include <functional>
#include <string>
#include <vector>

#include "model/layers.h"
#include "vernier/format.h"

namespace vernier {

struct LowSlots {
  std::vector<bool> inputs;   // parallel to the node's inputs
  std::vector<bool> outputs;  // parallel to the node's outputs; all false when `refusal` is not empty
  std::string refusal;        // why the node cannot compute in the format; empty when it can
};

/// The type variables of the node's schema that data or weights of the layer are bound to and that admit `format`; all
/// inputs and outputs bound to one of them change. Of a Cast, whose output type is an attribute, the output.
/// `is_float32` tells of a tensor whether its type is known to be float32.
LowSlots low_slots(const onnx::NodeProto& node, const Layer& layer, int opset, Format format,
                   const std::function<bool(const std::string&)>& is_float32);

/// The same by names alone: a layer's data and weights are taken to be float32, and so is what shares their variable.
LowSlots low_slots(const onnx::NodeProto& node, const Layer& layer, int opset, Format format);

}  // namespace vernier
