// A typed file as those who read it want it, and what they ask of its nodes.
#pragma once

#include <onnx/onnx_pb.h>

#include <string>

#include "model/model.h"
#include "vernier/note.h"

namespace vernier {

/// What is to be said of a recurrent layer in low precision.
Note recurrence_note(const std::string& op_type, const std::string& layer);

/// The file with functions inlined and Constant nodes made initializers: what it says in them can be looked up.
Model normalized_file(const Model& typed);

/// QuantizeLinear or DequantizeLinear (`op_type`) of ONNX, or of ONNX Runtime's own domain with the same meaning.
bool is_quantization(const onnx::NodeProto& node, const char* op_type);

}  // namespace vernier
