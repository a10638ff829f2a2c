// Avoids a crash of ONNX Runtime while it loads a valid model (its issue 28392; seen with 1.24, 1.25 and 1.31 on x86):
// when its optimizer moves a Transpose behind a Cast to float32, NchwcTransformer meets the new nodes before they are
// resolved.
#pragma once

namespace onnx {
class GraphProto;
}

namespace vernier {

/// Whether a Cast to float32 computes with what a Transpose gave, at any distance: such a graph must be loaded without
/// NchwcTransformer, the blocked layouts of convolutions. Bodies are not looked into: the optimizer treats them alone.
/// Nodes may be in any order.
bool casts_transposed(const onnx::GraphProto& graph);

}  // namespace vernier
