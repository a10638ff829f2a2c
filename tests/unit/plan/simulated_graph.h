// Questions about graphs with Round nodes, and constants in the types that the graph language cannot write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "numerics/round.h"
#include "plan/lower_simulated.h"
#include "plan/typed_weights.h"
#include "tiny_graph.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier::testing {

inline Model simulated(const Model& model, const Plan& plan) {
  RoundedWeights weights;
  return lower_simulated(model, find_layers(model), plan, weights);
}

/// A constant of `values` on the grid of `params`, stored as its codes.
inline Tensor coded_tensor(const QuantParams& params, const Shape& shape, const std::vector<float>& values) {
  Tensor tensor(dtype_of_format(params.format), shape);
  const std::vector<std::byte> codes = encode(params, 1, static_cast<std::int64_t>(values.size()), values);
  std::memcpy(tensor.mutable_bytes().data(), codes.data(), codes.size());
  return tensor;
}

inline Tensor low_tensor(Format format, const Shape& shape, const std::vector<float>& values) {
  QuantParams params;
  params.format = format;
  if (needs_scale(format)) params.scale = {1};
  return coded_tensor(params, shape, values);
}

template <class Code>
Tensor tensor_of_codes(Dtype dtype, const Shape& shape, const std::vector<Code>& codes) {
  Tensor tensor(dtype, shape);
  std::memcpy(tensor.mutable_bytes().data(), codes.data(), codes.size() * sizeof(Code));
  return tensor;
}

/// A model that is not complete yet: it may read constants that are added before it becomes a Model.
struct Draft {
  onnx::ModelProto proto;
  operator Model() const { return adopt_model(proto); }
};

inline Draft draft(const std::string& text, int opset = 17) {
  Draft result;
  const std::string header = "<ir_version: 8, opset_import: [\"\" : " + std::to_string(opset) + "]>\n";
  const onnx::Common::Status status = onnx::OnnxParser::Parse(result.proto, (header + text).c_str());
  EXPECT_TRUE(status.IsOK()) << status.ErrorMessage();
  return result;
}

inline Draft with_initializer(Draft model, const std::string& name, const Tensor& value) {
  *model.proto.mutable_graph()->add_initializer() = proto_of(value, name);
  return model;
}

inline std::vector<float> values_of(const Model& model, const std::string& name) {
  const std::optional<Tensor> tensor = initializer(model, name);
  if (!tensor) throw std::runtime_error("no initializer " + std::string(name));
  return {tensor->floats().begin(), tensor->floats().end()};
}

/// The one Round that reads `tensor`.
inline const onnx::NodeProto& round_behind(const Model& model, std::string_view tensor) {
  const onnx::NodeProto* found = nullptr;
  for_each_graph(model.proto.graph(), [&](const onnx::GraphProto& graph) {
    for (const onnx::NodeProto& node : graph.node()) {
      if (node.op_type() != "Round" || node.input(0) != tensor) continue;
      EXPECT_EQ(found, nullptr) << "a second Round of " << tensor;
      found = &node;
    }
  });
  if (found == nullptr) throw std::runtime_error("no Round of " + std::string(tensor));
  return *found;
}

}  // namespace vernier::testing
