// Weights in 4 bits of layers inside bodies of If, Loop and Scan. ONNX Runtime fuses their DequantizeLinear with a
// MatMul, and refuses the file if another graph holds the values: "Missing required weight".
#pragma once

#include "model/model.h"

namespace vernier {

/// Puts values in 4 bits, scale and zero point of a DequantizeLinear inside a body into that body. What other graphs
/// read too is copied. No value changes.
void hold_weights_in_bodies(Model& typed, NamePool& names);

}  // namespace vernier
