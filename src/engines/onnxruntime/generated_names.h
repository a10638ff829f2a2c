// Names that ONNX Runtime gives to what it writes into a graph without looking whether the graph has them already, as
// one does that went through its optimizer before.
#pragma once

#include <map>
#include <string>

#include "vernier/tensor.h"

namespace onnx {
class GraphProto;
}

namespace vernier {

/// Renames tensors of the main graph that have such names, graph outputs too, but neither inputs nor `weights`. Cost:
/// linear in nodes.
void rename_generated(onnx::GraphProto& graph, const std::map<std::string, Tensor>& weights);

}  // namespace vernier
