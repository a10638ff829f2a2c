// What an operator does with each of its inputs, read from its ONNX schema.
#pragma once

#include <onnx/onnx_pb.h>

namespace vernier {

enum class InputRole {
  Data,       // its values become values of the output: follows the float data path
  Parameter,  // a float table that scales or shifts, of a type of its own (statistics of a BatchNormalization)
  Other,      // shape, axis, index, condition, coordinate, scale of a quantization, or no float at all
};

/// Data: the formal parameter's type is a type variable that admits float and that an output shares, or the operator
/// has no float output (comparisons, ArgMax), or a sequence is made or read. Operators that only use shape or
/// coordinates of an input are an exception table. An operator that ONNX does not know has data inputs only: nothing of
/// its data path is lost.
InputRole input_role(const onnx::NodeProto& node, int index, int opset);

/// Whether the schema lets output `index` be of a float type; true for operators that ONNX does not know.
bool may_output_float(const onnx::NodeProto& node, int index, int opset);

}  // namespace vernier
