#include "model/type_protos.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "base/text.h"
#include "model/operator_traits.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/tensor.h"

namespace vernier {

void keep_custom_types(onnx::GraphProto& graph) {
  std::set<std::string> custom;
  for (const onnx::NodeProto& node : graph.node()) {
    if (unknown_to_onnx(node)) custom.insert(node.output().begin(), node.output().end());
  }
  auto& values = *graph.mutable_value_info();
  values.erase(std::remove_if(values.begin(), values.end(),
                              [&](const onnx::ValueInfoProto& value) {
                                return !custom.contains(value.name()) || !value.type().has_tensor_type();
                              }),
               values.end());
  for (onnx::ValueInfoProto& value : values) {
    onnx::TypeProto_Tensor& type = *value.mutable_type()->mutable_tensor_type();
    if (!type.has_shape()) continue;
    for (auto& dim : *type.mutable_shape()->mutable_dim()) dim.Clear();
  }
}

void add_input(onnx::GraphProto& graph, const std::string& name, Dtype dtype, std::span<const std::int64_t> shape) {
  onnx::ValueInfoProto& input = *graph.add_input();
  input.set_name(name);
  onnx::TypeProto::Tensor& type = *input.mutable_type()->mutable_tensor_type();
  type.set_elem_type(static_cast<int>(dtype));
  type.mutable_shape();
  for (const std::int64_t dim : shape) type.mutable_shape()->add_dim()->set_dim_value(dim);
}

void add_input(onnx::GraphProto& graph, const onnx::TensorProto& tensor) {
  add_input(graph, tensor.name(), static_cast<Dtype>(tensor.data_type()),
            {tensor.dims().data(), static_cast<std::size_t>(tensor.dims_size())});
}

void set_shape(onnx::TypeProto_Tensor& type, const OpenShape& shape) {
  type.mutable_shape()->Clear();
  for (std::size_t i = 0; i < shape.sizes.size(); ++i) {
    onnx::TensorShapeProto_Dimension& added = *type.mutable_shape()->add_dim();
    if (shape.sizes[i] >= 0) {
      added.set_dim_value(shape.sizes[i]);
    } else if (i < shape.names.size() && !shape.names[i].empty()) {
      added.set_dim_param(shape.names[i]);
    }
  }
}

void override_input_shapes(Model& model, const std::map<std::string, OpenShape>& shapes, const std::string& option) {
  if (shapes.empty()) return;
  const std::vector<std::string> names = input_names(model);
  std::map<std::string, const OpenShape*> wanted;
  for (const auto& [pattern, shape] : shapes) {
    const std::size_t before = wanted.size();
    for (const std::string& name : names) {
      if (name == pattern || wildcard_match(pattern, name)) wanted[name] = &shape;
    }
    if (wanted.size() == before) {
      throw Error(ErrorCode::UnknownName, fmt::format("{}: the model has no input '{}'", option, printable(pattern)),
                  "the inputs are: " + list_some(names));
    }
  }
  onnx::GraphProto& graph = *model.proto.mutable_graph();
  for (onnx::ValueInfoProto& input : *graph.mutable_input()) {
    const auto found = wanted.find(input.name());
    if (found == wanted.end()) continue;
    auto& type = *input.mutable_type()->mutable_tensor_type();
    const OpenShape& shape = *found->second;
    if (type.has_shape() && type.shape().dim_size() != static_cast<int>(shape.sizes.size())) {
      throw Error(ErrorCode::BadValue,
                  fmt::format("{}: input '{}' has {} dimensions, the shape given has {}", option,
                              printable(input.name()), type.shape().dim_size(), shape.sizes.size()));
    }
    set_shape(type, shape);
  }
  for_each_graph(graph, keep_custom_types);
  for (onnx::ValueInfoProto& output : *graph.mutable_output()) {
    if (output.type().has_tensor_type()) output.mutable_type()->mutable_tensor_type()->clear_shape();
  }
  const std::map<std::string, onnx::TypeProto> types = infer_type_protos(model);
  for (onnx::ValueInfoProto& output : *graph.mutable_output()) {
    const auto type = types.find(output.name());
    if (type != types.end()) *output.mutable_type() = type->second;
  }
}

void fix_open_sizes(Model& model) {
  std::map<std::string, OpenShape> shapes;
  for (const InputInfo& input : model_inputs(model)) {
    if (std::ranges::none_of(input.shape, [](std::int64_t dim) { return dim < 0; })) continue;
    Shape& shape = (shapes[input.name] = input.shape).sizes;
    std::ranges::replace_if(
        shape, [](std::int64_t dim) { return dim < 0; }, 1);
  }
  override_input_shapes(model, shapes, "");
}

std::string unread_type_text(int data_type) {
  const auto replaced = [](const char* name, const char* by) {
    return fmt::format(
        "vernier does not read elements of type {}, which ONNX Runtime runs on CPUs and TensorRT does not; "
        "quantize to {}",
        name, by);
  };
  switch (data_type) {
    case onnx::TensorProto::FLOAT8E4M3FNUZ:
      return replaced("FLOAT8E4M3FNUZ", "FLOAT8E4M3FN");
    case onnx::TensorProto::FLOAT8E5M2FNUZ:
      return replaced("FLOAT8E5M2FNUZ", "FLOAT8E5M2");
    case onnx::TensorProto::COMPLEX64:
    case onnx::TensorProto::COMPLEX128:
      return "vernier does not read complex numbers";
    default:
      return fmt::format("element type {} is not supported", data_type);
  }
}

}  // namespace vernier
