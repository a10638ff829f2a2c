// Faults of ONNX Runtime's graph optimizer on valid models, and the optimizer to leave out for each.
#pragma once

#include <string>
#include <vector>

namespace onnx {
class GraphProto;
}

namespace vernier {

/// A crash while a model is loaded (its issue 28392; seen with 1.24, 1.25 and 1.31 on x86): when the optimizer moves a
/// Transpose behind a Cast to float32, NchwcTransformer (blocked layouts of convolutions) meets the new nodes before
/// they are resolved. Whether a Cast to float32 computes with what a Transpose gave, at any distance. Bodies are not
/// looked into: the optimizer treats them alone. Nodes may be in any order.
bool casts_transposed(const onnx::GraphProto& graph);

/// Whether a tensor is of float16: few operators have such kernels, and ONNX Runtime itself adds Casts to float32 in
/// front of the others, which are not in the file.
bool holds_float16(const onnx::GraphProto& graph);

/// An output that is lost (1.31.1): where an Add reads two convolutions, ConvAddActivationFusion fuses the first one
/// with it, also when that one's result is an output of the graph. It then never gets a value, or holds that of another
/// tensor. Whether an output is such an addend; scales and shifts by constants are folded into convolutions first.
bool adds_convolved_output(const onnx::GraphProto& graph);

/// Names of the optimizers that must not touch the graph; empty: all may.
std::vector<std::string> faulty_optimizers(const onnx::GraphProto& graph);

}  // namespace vernier
