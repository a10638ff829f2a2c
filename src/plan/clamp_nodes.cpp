#include "plan/clamp_nodes.h"

#include <cstddef>
#include <cstdint>
#include <span>

#include "numerics/round.h"

namespace vernier {
namespace {

using Constant = std::function<void(const std::string&, const Tensor&)>;

onnx::NodeProto node_of(const char* op_type, const std::string& name, const std::string& input,
                        const std::string& output) {
  onnx::NodeProto node;
  node.set_op_type(op_type);
  node.set_name(name);
  node.add_input(input);
  node.add_output(output);
  return node;
}

/// An end of a Clip: an attribute before opset 11, an input from then on.
void set_end(onnx::NodeProto& clip, const char* end, bool wanted, float value, int opset, const Constant& constant) {
  if (opset < 11) {
    if (!wanted) return;
    onnx::AttributeProto& attribute = *clip.add_attribute();
    attribute.set_name(end);
    attribute.set_type(onnx::AttributeProto::FLOAT);
    attribute.set_f(value);
    return;
  }
  const std::string name = wanted ? clip.output(0) + "/" + end : "";
  if (wanted) constant(name, Tensor::of({}, std::span(&value, 1)));
  clip.add_input(name);
}

std::vector<onnx::NodeProto> along_axis(const QuantizedTensor& pair, Clamp clamp, const Constant& constant) {
  const std::size_t count = pair.params.scale.size();
  Shape shape(static_cast<std::size_t>(pair.rank - pair.params.axis), 1);
  shape.front() = static_cast<std::int64_t>(count);
  std::vector<onnx::NodeProto> nodes;
  std::string value = pair.tensor;
  const auto bound = [&](const char* op_type, double GridEnds::*end, const std::string& to) {
    std::vector<float> bounds;
    for (std::size_t i = 0; i < count; ++i) bounds.push_back(static_cast<float>(grid_ends(pair.params, i).*end));
    constant(to + "/bound", Tensor::of(shape, bounds));
    nodes.push_back(node_of(op_type, to == pair.output ? pair.dequantizer : to, value, to));
    nodes.back().add_input(to + "/bound");
    value = to;
  };
  if (clamp.low) bound("Max", &GridEnds::low, clamp.high ? pair.output + "/low" : pair.output);
  if (clamp.high) bound("Min", &GridEnds::high, pair.output);
  return nodes;
}

}  // namespace

std::vector<onnx::NodeProto> clamp_nodes(const QuantizedTensor& pair, Clamp clamp, int opset,
                                         const Constant& constant) {
  if (pair.params.scale.size() > 1) return along_axis(pair, clamp, constant);
  const GridEnds ends = grid_ends(pair.params);
  const bool relu = ends.low == 0 && !clamp.high;
  onnx::NodeProto node = node_of(relu ? "Relu" : "Clip", pair.dequantizer, pair.tensor, pair.output);
  if (!relu) {
    set_end(node, "min", clamp.low, static_cast<float>(ends.low), opset, constant);
    set_end(node, "max", clamp.high, static_cast<float>(ends.high), opset, constant);
  }
  return {node};
}

}  // namespace vernier
