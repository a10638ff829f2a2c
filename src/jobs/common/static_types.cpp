#include "jobs/common/static_types.h"

#include <algorithm>

#include "engines/onnxruntime/session.h"
#include "model/passes/pass.h"
#include "vernier/error.h"

namespace vernier {
namespace {

int known_sizes(const onnx::TypeProto& type) {
  const auto& dims = type.tensor_type().shape().dim();
  return static_cast<int>(std::count_if(dims.begin(), dims.end(), [](const auto& dim) { return dim.has_dim_value(); }));
}

bool open_sizes(const onnx::TypeProto& type) {
  return type.has_tensor_type() && known_sizes(type) < type.tensor_type().shape().dim_size();
}

}  // namespace

std::map<std::string, onnx::TypeProto> static_types(const Model& model,
                                                    const std::function<std::shared_ptr<const Runtime>()>& runtime) {
  std::map<std::string, onnx::TypeProto> types = infer_type_protos(model);
  if (std::none_of(types.begin(), types.end(), [](const auto& entry) { return open_sizes(entry.second); }))
    return types;
  try {
    Model folded = model;
    const PrepareOptions options;
    const Evaluator evaluate = evaluator(runtime());
    const passes::Context context{options, evaluate, default_opset(model.proto)};
    passes::constants_to_initializers(folded, context);
    passes::fold_constants(folded, context);
    // What the file says of inner tensors would be believed, open sizes too.
    keep_custom_types(*folded.proto.mutable_graph());
    for (auto& [name, type] : infer_type_protos(folded)) {
      const auto known = types.find(name);
      if (known == types.end() || !open_sizes(known->second) || !type.has_tensor_type()) continue;
      const bool alike = type.tensor_type().shape().dim_size() == known->second.tensor_type().shape().dim_size();
      if (alike && known_sizes(type) > known_sizes(known->second)) known->second = type;
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Input && error.kind() != ErrorKind::Backend) throw;  // types are known without it
  }
  return types;
}

}  // namespace vernier
