// Weights that Cast and arithmetic decode, in a file without a DequantizeLinear for them.
#pragma once

#include <onnx/onnx_pb.h>

#include "model/model.h"

namespace vernier {

/// Puts a DequantizeLinear in the place of nodes that decode a constant, with the same values:
///
///   Mul(Cast(codes), scale), Div(Cast(codes), scale)   of 8 and 4 bits, FP8 and FP4; a Sub of the zero point between
///   Cast(codes)                                        FP8 and FP4: the scale is 1
///   Mul(MatMul(x, Cast(codes)), scale)                 the scale moves in front of the product
///
/// The scale is one, one for each index of a dimension, or one for each block. It has the name of the node that scales,
/// or else of the Cast. What has other forms stays. `file`: as normalized_file() gives it. Returns whether any changed.
bool dequantize_casts(Model& file);

/// Whether dequantize_casts() made this node: the file decodes the weight for a product in float.
bool stands_for_casts(const onnx::NodeProto& node);

}  // namespace vernier
