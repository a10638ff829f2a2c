#include "analysis/input_products.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "analysis/surgery.h"
#include "model/graph_edit.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

constexpr const char* kProducts = "products/";
constexpr std::int64_t kPositions = 512;  // of one sample: many samples tell more than many positions

onnx::NodeProto& add_node(Model& model, const char* op_type, const std::vector<std::string>& inputs,
                          const std::string& output) {
  onnx::NodeProto& node = *model.proto.mutable_graph()->add_node();
  node.set_op_type(op_type);
  node.set_name(output);
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(output);
  return node;
}

std::string reshape(Model& model, const std::string& input, const std::vector<std::int64_t>& shape) {
  const std::string shape_name = input + "/shape";
  set_initializer(model, *model.proto.mutable_graph(), shape_name,
                  Tensor::of_int64({static_cast<std::int64_t>(shape.size())}, shape));
  add_node(model, "Reshape", {input, shape_name}, input + "/rows");
  return input + "/rows";
}

/// Steps between the positions looked at, along each dimension in space: so that about kPositions are left.
std::int64_t sparing(const onnx::NodeProto& conv, const Shape& result) {
  const onnx::AttributeProto* pad = find_attribute(conv, "auto_pad");
  if (pad != nullptr && pad->s() != "NOTSET" && !pad->s().empty()) return 1;  // its padding depends on the strides
  std::int64_t positions = 1;
  for (std::size_t d = 2; d < result.size(); ++d) positions *= std::max<std::int64_t>(1, result[d]);
  const auto dimensions = static_cast<double>(result.size() - 2);
  const double step = std::pow(static_cast<double>(positions) / static_cast<double>(kPositions), 1 / dimensions);
  return std::max<std::int64_t>(1, std::llround(step));
}

/// A Conv whose weight picks each element of each patch: [N, C * kernel, positions...], a channel's elements together.
InputProducts add_conv(Model& model, const onnx::NodeProto& conv, const std::string& name, const Shape& kernel,
                       const Shape& result) {
  InputProducts products;
  products.groups = static_cast<std::size_t>(std::max<std::int64_t>(1, attribute_int(conv, "group", 1)));
  products.inputs = static_cast<std::size_t>(element_count(kernel) / kernel[0]);
  std::int64_t inside = 1;
  for (std::size_t d = 2; d < kernel.size(); ++d) inside *= kernel[d];
  const std::int64_t channels = kernel[1] * static_cast<std::int64_t>(products.groups);
  Shape picking = kernel;
  picking[0] = channels * inside;
  picking[1] = 1;
  Tensor picks(Dtype::Float32, picking);
  for (std::int64_t i = 0; i < channels * inside; ++i) {
    picks.mutable_floats()[static_cast<std::size_t>(i * inside + i % inside)] = 1;
  }
  set_initializer(model, *model.proto.mutable_graph(), name + "/picks", picks);
  onnx::NodeProto& node = add_node(model, "Conv", {conv.input(0), name + "/picks"}, name + "/patches");
  for (const onnx::AttributeProto& attribute : conv.attribute()) *node.add_attribute() = attribute;
  set_attribute(node, "group", channels);
  const std::int64_t step = sparing(conv, result);
  if (step > 1) {
    std::vector<std::int64_t> strides(kernel.size() - 2, 1);
    if (const onnx::AttributeProto* own = find_attribute(conv, "strides")) {
      strides.assign(own->ints().begin(), own->ints().end());
    }
    for (std::int64_t& stride : strides) stride *= step;
    set_attribute(node, "strides", strides);
  }
  const auto size = static_cast<std::int64_t>(products.inputs);
  // [N, groups, K, positions]: the first dimension is kept, so that samples of several rows stay apart.
  const std::string rows = reshape(model, name + "/patches", {0, static_cast<std::int64_t>(products.groups), size, -1});
  set_attribute(add_node(model, "Transpose", {rows}, name + "/turned"), "perm", std::vector<std::int64_t>{0, 1, 3, 2});
  add_node(model, "MatMul", {rows, name + "/turned"}, name);
  return products;
}

InputProducts add_matmul(Model& model, const onnx::NodeProto& node, const std::string& name, std::int64_t inputs) {
  InputProducts products;
  products.inputs = static_cast<std::size_t>(inputs);
  add_node(model, "Identity", {node.input(0)}, name + "/inputs");
  const std::string rows = reshape(model, name + "/inputs", {-1, inputs});
  set_attribute(add_node(model, "Transpose", {rows}, name + "/turned"), "perm", std::vector<std::int64_t>{1, 0});
  add_node(model, "MatMul", {name + "/turned", rows}, name);
  return products;
}

std::optional<InputProducts> add_products(Model& model, const Subject& subject, const onnx::NodeProto& node,
                                          const std::string& name, const std::map<std::string, Shape>& shapes) {
  if (node.input_size() < 2) return std::nullopt;
  const std::optional<Tensor> weight = initializer(subject.model, node.input(1));
  if (!weight) return std::nullopt;
  const Shape& kernel = weight->shape();
  const auto result = shapes.find(node.output(0));
  if (node.op_type() == "Conv" && kernel.size() > 2 && result != shapes.end() && weight->count() > 0) {
    if (result->second.size() != kernel.size()) return std::nullopt;
    return add_conv(model, node, name, kernel, result->second);
  }
  if (kernel.size() != 2 || weight->count() == 0) return std::nullopt;
  if (node.op_type() == "Gemm" && attribute_int(node, "transA", 0) == 0) {
    return add_matmul(model, node, name, kernel[attribute_int(node, "transB", 0) == 0 ? 0 : 1]);
  }
  if (node.op_type() == "MatMul") return add_matmul(model, node, name, kernel[0]);
  return std::nullopt;
}

}  // namespace

std::map<std::string, std::vector<InputProducts>> input_products(const Subject& subject,
                                                                 const std::vector<std::string>& layers,
                                                                 const std::map<std::string, Shape>& shapes,
                                                                 const std::vector<std::vector<std::size_t>>& parts) {
  Model model = subject.model;
  const std::map<std::string, const onnx::NodeProto*> nodes = nodes_by_name(subject.model.proto.graph());
  std::vector<std::pair<std::string, Dtype>> outputs;
  std::vector<std::string> measured;
  std::map<std::string, std::vector<InputProducts>> products;
  for (const std::string& layer : layers) {
    const auto node = nodes.find(layer);
    if (node == nodes.end()) continue;
    auto made = add_products(model, subject, *node->second, kProducts + layer, shapes);
    if (!made) continue;
    made->sums.resize(made->groups * made->inputs * made->inputs);
    products[layer].assign(parts.size(), *made);
    outputs.emplace_back(kProducts + layer, Dtype::Float32);
    measured.push_back(layer);
  }
  if (outputs.empty()) return products;
  for (const Carry& carry : subject.carries) outputs.emplace_back(carry.output, Dtype::Float32);
  set_outputs(model, outputs);
  const Session session = subject.session(model);
  std::vector<std::size_t> order;
  std::map<std::size_t, std::size_t> part_of;
  for (std::size_t part = 0; part < parts.size(); ++part) {
    for (const std::size_t sample : parts[part]) {
      order.push_back(sample);
      part_of[sample] = part;
    }
  }
  run_samples(subject, session, order, {}, "inputs of weights", [&](SampleResult result) {
    for (std::size_t i = 0; i < measured.size(); ++i) {
      std::vector<float>& sums = products[measured[i]][part_of.at(result.index)].sums;
      const std::span<const float> values = result.outputs[i].floats();
      // Rows of one sample follow each other.
      for (std::size_t first = 0; first < values.size(); first += sums.size()) {
        for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += values[first + k];
      }
    }
    return true;
  });
  return products;
}

}  // namespace vernier
