// Operators that ONNX Runtime has no kernel for at a newer opset, although only their types changed.
#pragma once

#include <onnx/onnx_pb.h>

namespace vernier {

/// Lowers the opset of a model that only measures from 22 or above to 21, if it holds an operator that ONNX
/// Runtime 1.31 computes until 21 alone (RoiAlign, GlobalLpPool, MaxRoiPool, Multinomial, RandomNormal, RandomUniform
/// and their Like forms). ONNX added bfloat16 to them in 22 and changed nothing else.
///
/// Edges: a model stays as it is if a node or an attribute is newer than 21, or if it has functions.
void lower_to_runnable_opset(onnx::ModelProto& proto);

}  // namespace vernier
