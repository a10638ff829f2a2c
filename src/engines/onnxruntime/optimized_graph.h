// What the runtime's optimizer makes of a model: the graph that it would run, as a model.
#pragma once

#include <memory>

#include "model/model.h"

namespace vernier {

class Runtime;

/// `file` after all optimizations that do not depend on the machine's vector width (ORT_ENABLE_EXTENDED), with the CPU
/// provider. `kernels_of_x86`: as of SessionOptions. Errors: Backend with the runtime's text.
onnx::ModelProto optimized_graph(const std::shared_ptr<const Runtime>& runtime, const Model& file,
                                 bool kernels_of_x86 = false);

/// What a session of `model` with all optimizations runs, this machine's layouts included: a session of it without
/// optimizations gives the same bits. Nodes that no output needs are left out, and the order of the others depends on
/// the graph alone; what the runtime calls its own tensors does not. Large initializers lie beside the message. Errors:
/// as a session's.
Model optimized_model(const std::shared_ptr<const Runtime>& runtime, const Model& model);

}  // namespace vernier
