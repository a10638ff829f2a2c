#include "bench.h"

#include <onnx/defs/parser.h>

#include <cstddef>
#include <utility>

#include "numerics/tensor_grid.h"

namespace vernier::testing {

Tensor filled(const Shape& shape, const std::function<float(int)>& value) {
  Tensor tensor(Dtype::Float32, shape);
  for (int i = 0; i < static_cast<int>(tensor.count()); ++i) {
    tensor.mutable_floats()[static_cast<std::size_t>(i)] = value(i);
  }
  return tensor;
}

Tensor zeros(const Shape& shape) {
  return filled(shape, [](int) { return 0.0F; });
}

Model parsed(const std::string& graph, const std::map<std::string, Tensor>& weights) {
  onnx::ModelProto proto;
  const auto status = onnx::OnnxParser::Parse(proto, (R"(<ir_version: 8, opset_import: ["" : 17]> )" + graph).c_str());
  EXPECT_TRUE(status.IsOK()) << status.ErrorMessage();
  for (const auto& [name, value] : weights) *proto.mutable_graph()->add_initializer() = proto_of(value, name);
  return adopt_model(proto);
}

std::vector<float> values_of(const Model& model, const std::string& name) {
  const Tensor value = *initializer(model, name);
  return {value.floats().begin(), value.floats().end()};
}

Bench::Bench(Model made, Format format) : model(std::move(made)), layers(find_layers(model)) {
  for (const Layer& layer : layers) {
    plan.layers.push_back({layer.name, format});
    for (const std::string& weight : layer.weights) {
      const Tensor value = *initializer(model, weight);
      QuantParams along;
      if (needs_scale(format)) {
        plan.tensors[weight] = symmetric_params(format, absmax_of_scales(along, value.shape(), value.floats()), -1);
      }
    }
  }
}

}  // namespace vernier::testing
