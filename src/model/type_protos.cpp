#include "model/type_protos.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/text.h"
#include "vernier/error.h"
#include "vernier/tensor.h"

namespace vernier {

void override_input_shapes(Model& model, const std::map<std::string, Shape>& shapes, const std::string& option) {
  if (shapes.empty()) return;
  const std::vector<std::string> names = input_names(model);
  std::map<std::string, const Shape*> wanted;
  for (const auto& [pattern, shape] : shapes) {
    const std::size_t before = wanted.size();
    for (const std::string& name : names) {
      if (name == pattern || wildcard_match(pattern, name)) wanted[name] = &shape;
    }
    if (wanted.size() == before) {
      throw Error(ErrorKind::Usage, fmt::format("{}: the model has no input '{}'", option, printable(pattern)),
                  "the inputs are: " + list_some(names));
    }
  }
  onnx::GraphProto& graph = *model.proto.mutable_graph();
  for (onnx::ValueInfoProto& input : *graph.mutable_input()) {
    const auto found = wanted.find(input.name());
    if (found == wanted.end()) continue;
    auto& type = *input.mutable_type()->mutable_tensor_type();
    const Shape& shape = *found->second;
    if (type.has_shape() && type.shape().dim_size() != static_cast<int>(shape.size())) {
      throw Error(ErrorKind::Usage, fmt::format("{}: input '{}' has {} dimensions, the shape given has {}", option,
                                                printable(input.name()), type.shape().dim_size(), shape.size()));
    }
    type.clear_shape();
    type.mutable_shape();
    for (const std::int64_t dim : shape) {
      onnx::TensorShapeProto_Dimension& added = *type.mutable_shape()->add_dim();
      if (dim >= 0) added.set_dim_value(dim);
    }
  }
  for_each_graph(graph, [](onnx::GraphProto& inner) { inner.clear_value_info(); });
  for (onnx::ValueInfoProto& output : *graph.mutable_output()) {
    if (output.type().has_tensor_type()) output.mutable_type()->mutable_tensor_type()->clear_shape();
  }
  const std::map<std::string, onnx::TypeProto> types = infer_type_protos(model);
  for (onnx::ValueInfoProto& output : *graph.mutable_output()) {
    const auto type = types.find(output.name());
    if (type != types.end()) *output.mutable_type() = type->second;
  }
}

}  // namespace vernier
