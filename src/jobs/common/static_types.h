// Shapes that a network computes, told as numbers.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "engines/onnxruntime/runtime.h"
#include "model/model.h"
#include "model/type_protos.h"

namespace vernier {

/// infer_type_protos(), with the sizes that become known once the constants of a model are folded: exporters compute
/// the shape of a Reshape by nodes. Nothing is run on inputs, so that no size of one sample is taken for all.
/// `runtime` is asked for where sizes are open; without one these stay so. Cost: constants are evaluated, of a copy of
/// the structure.
std::map<std::string, onnx::TypeProto> static_types(const Model& model,
                                                    const std::function<std::shared_ptr<const Runtime>()>& runtime);

}  // namespace vernier
