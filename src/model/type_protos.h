// Types of tensors as ONNX writes them, symbolic dimensions included; model.h has them without.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "model/model.h"
#include "vernier/open_shape.h"
#include "vernier/tensor.h"

namespace vernier {

/// Types of all tensors of the main graph and of bodies, from ONNX's shape inference; tensors it knows nothing of are
/// absent. Dimensions that it could only give a name of its own ("unk__3") keep it.
std::map<std::string, onnx::TypeProto> infer_type_protos(const Model& model);

/// infer_types without a copy of the message: for large models that nobody else looks at. What the file says of inner
/// tensors is gone afterwards.
std::map<std::string, ValueType> infer_types_in_place(Model& model);

/// Drops what `graph` says of its inner tensors, except for operators that ONNX does not define
/// (unknown_to_onnx): inference knows nothing of what they give. Their element type and rank are believed, and no
/// sizes.
void keep_custom_types(onnx::GraphProto& graph);

/// Why a tensor of `data_type`, a number of onnx::TensorProto::DataType that Dtype does not have, is not read.
std::string unread_type_text(int data_type);

/// One more input of `graph`, of that type and shape.
void add_input(onnx::GraphProto& graph, const std::string& name, Dtype dtype, std::span<const std::int64_t> shape);
/// One that a run feeds in the place of the constant `tensor`.
void add_input(onnx::GraphProto& graph, const onnx::TensorProto& tensor);

/// `shape` in a file, with its names.
void set_shape(onnx::TypeProto_Tensor& type, const OpenShape& shape);

/// Sets dimensions of graph inputs, drops what was annotated before, and infers the shapes of the outputs anew.
/// Errors: Usage when no input has that name, or the rank differs.
void override_input_shapes(Model& model, const std::map<std::string, OpenShape>& shapes, const std::string& option);

/// The same for every open size of an input, which becomes 1.
void fix_open_sizes(Model& model);

}  // namespace vernier
