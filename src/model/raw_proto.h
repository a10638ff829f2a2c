// A model file as its bare message, for those who look at files that cannot be read as models, or must not be.
#pragma once

#include <filesystem>
#include <string>

#include "model/model.h"
#include "vernier/onnx_model.h"
#include "vernier/tensor.h"

namespace vernier {

/// A built engine of TensorRT ("ftrt") or TensorRT-RTX ("vtrt"), by its first bytes; a typed ONNX model under such a
/// name is none. Errors: Input when it cannot be read.
bool is_built_engine(const OnnxModel& model);

/// Parses the model and nothing more: names are as written, weights may be missing, the graph may be broken
/// (malformation_of() tells).
/// Errors: Input: missing, empty, above 2 GB, not ONNX, truncated.
onnx::ModelProto read_raw_proto(const OnnxModel& model, std::string* sha256 = nullptr);

/// Puts nodes behind those that make what they read, in bodies too: ONNX Runtime takes them in any order.
/// Errors: Input: a cycle, a tensor that nothing or several nodes make.
void sort_nodes(onnx::GraphProto& graph);

/// read_model() for those who only look: `sha256` stays empty, for which weights outside the file would have to be
/// read.
Model read_model_unhashed(const OnnxModel& source, const std::filesystem::path& external_data_dir = {});

/// The same without opening the files that hold external data, which may be missing: such tensors have types and
/// shapes, and no values. For those who only look.
Model read_model_without_external_data(const OnnxModel& source);

/// Makes `slot`, an initializer of a graph of `model`, hold `value` under `name`: large values go beside the message.
void store_initializer(Model& model, onnx::TensorProto& slot, const std::string& name, const Tensor& value);

}  // namespace vernier
