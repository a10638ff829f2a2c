#include "repairs/stream_graph.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "model/graph_edit.h"
#include "model/operator_traits.h"
#include "repairs/norm_in_pieces.h"
#include "vernier/tensor.h"

namespace vernier {

StreamGraph::StreamGraph(const Model& whole)
    : model(whole), walk(whole), types(infer_types(whole)), counts(count_readers(whole)) {
  for (const auto& output : model.proto.graph().output()) outputs.insert(output.name());
  for (const onnx::NodeProto& node : model.proto.graph().node()) find_norm(node);
}

std::optional<Shape> StreamGraph::shape_of(const std::string& tensor) const {
  const auto type = types.find(tensor);
  if (type != types.end() && type->second.rank_known) return type->second.shape;
  return std::nullopt;
}

std::int64_t StreamGraph::size_at(const std::string& tensor, int from_end) const {
  const std::optional<Shape> shape = shape_of(tensor);
  if (!shape) return -1;
  const int axis = static_cast<int>(shape->size()) - 1 - from_end;
  return axis < 0 ? 1 : (*shape)[static_cast<std::size_t>(axis)];
}

bool StreamGraph::is_float(const std::string& name) const {
  const std::optional<Tensor> value = initializer(model, name);
  return value && value->dtype() == Dtype::Float32;
}

std::optional<std::vector<std::int64_t>> StreamGraph::ints(const onnx::NodeProto& node, const char* name,
                                                           int input) const {
  std::vector<std::int64_t> values = attribute_ints(node, name);
  if (!values.empty()) return values;
  if (node.input_size() <= input || node.input(input).empty()) return std::nullopt;
  const std::optional<Tensor> constant = initializer(model, node.input(input));
  if (!constant || constant->dtype() != Dtype::Int64) return std::nullopt;
  const auto held = constant->int64s();
  return std::vector<std::int64_t>(held.begin(), held.end());
}

std::optional<WeightSeen> StreamGraph::weight_of(const onnx::NodeProto& node) const {
  if (!of_onnx(node) || node.input_size() < 2) return std::nullopt;
  if (node.op_type() != "MatMul" && node.op_type() != "Gemm" && node.op_type() != "Conv") return std::nullopt;
  WeightSeen seen{node.name(), 1, false, {}};
  std::string name = node.input(1);
  if (const onnx::NodeProto* maker = walk.maker(name); maker != nullptr && is_onnx(*maker, "Transpose")) {
    // Tied embeddings: the table of the first layer, turned over. It stays so where it is too large to be folded.
    if (!counts.contains(name) || counts.at(name) != 1) return std::nullopt;
    const std::vector<std::int64_t> order = attribute_ints(*maker, "perm");
    if (!order.empty() && order != std::vector<std::int64_t>{1, 0}) return std::nullopt;
    seen = {maker->name(), 0, true, {}};
    name = maker->input(0);
  }
  if (!is_float(name)) return std::nullopt;
  seen.shape = initializer(model, name)->shape();
  if (seen.transposed) std::ranges::reverse(seen.shape);
  if (node.op_type() == "Conv") {
    if (seen.transposed || seen.shape.size() < 3 || attribute_int(node, "group", 1) != 1) return std::nullopt;
  } else if (seen.shape.size() != 2) {
    return std::nullopt;
  }
  if (node.op_type() == "Gemm" && (attribute_int(node, "transA", 0) != 0 || attribute_float(node, "alpha", 1) != 1 ||
                                   attribute_float(node, "beta", 1) != 1)) {
    return std::nullopt;
  }
  return seen;
}

void StreamGraph::add_norm(NormSeen seen) {
  const std::string input = seen.norm.input;
  if (!norms.contains(input)) norm_inputs.push_back(input);
  norms[input].push_back(std::move(seen));
}

void StreamGraph::find_norm(const onnx::NodeProto& node) {
  const std::string& op = node.op_type();
  NormSeen seen;
  if (op == "LayerNormalization" || op == "RMSNormalization" || op == "SimplifiedLayerNormalization") {
    const std::optional<Shape> shape = shape_of(node.input(0));
    const std::int64_t axis = attribute_int(node, "axis", -1);
    const bool last = axis == -1 || (shape && axis + 1 == static_cast<std::int64_t>(shape->size()));
    bool alone = true;
    for (int i = 1; i < node.output_size(); ++i) alone &= node.output(i).empty() || !counts.contains(node.output(i));
    if (!last || !alone) return;
    seen.norm.subtracts_mean = op == "LayerNormalization";
    seen.norm.input = node.input(0);
    seen.norm.output = node.output(0);
    seen.nodes = {node.name()};
    if (!is_float(node.input(1))) return;
    seen.norm.scale_node = node.name();
    seen.norm.scale_input = 1;
    seen.norm.epsilon_node = node.name();
    if (node.input_size() > 2 && !node.input(2).empty()) {
      if (!is_float(node.input(2))) return;
      seen.norm.bias_node = node.name();
      seen.norm.bias_input = 2;
    }
    add_norm(std::move(seen));
    return;
  }
  if ((op != "Pow" && op != "Mul") || node.input_size() != 2 || !squares(model, node)) return;
  const onnx::NodeProto* behind = only_reader(walk, node.output(0));
  if (behind == nullptr || behind->op_type() != "ReduceMean") return;
  WholeNorm whole;
  if (!read_whole_norm(model, walk, types, node, whole).empty()) return;
  seen.norm.subtracts_mean = whole.subtracts_mean;
  seen.norm.input = whole.input;
  seen.norm.output = whole.output;
  seen.nodes = whole.nodes;
  const auto place = [&](const std::string& name, const std::string& constant) {
    const onnx::NodeProto* reader = find_node(model.proto.graph(), name);
    return reader != nullptr && reader->input(0) == constant ? 0 : 1;
  };
  seen.norm.scale_node = whole.scaler;
  if (!whole.scaler.empty()) seen.norm.scale_input = place(whole.scaler, whole.scale);
  seen.norm.epsilon_node = whole.pieces.add;
  if (!whole.pieces.add.empty()) seen.norm.epsilon_input = place(whole.pieces.add, whole.pieces.epsilon);
  seen.norm.bias_node = whole.adder;
  if (!whole.adder.empty()) seen.norm.bias_input = place(whole.adder, whole.bias);
  add_norm(std::move(seen));
}

std::size_t width_of(const StreamGraph& graph, const std::string& norm_input) {
  const std::int64_t last = graph.size_at(norm_input, 0);
  if (last > 1) return static_cast<std::size_t>(last);
  for (const NormSeen& seen : graph.norms.at(norm_input)) {
    const onnx::NodeProto* node = find_node(graph.model.proto.graph(), seen.norm.scale_node);
    if (node == nullptr) continue;
    const Shape shape = initializer(graph.model, node->input(seen.norm.scale_input))->shape();
    if (!shape.empty() && shape.back() > 1) return static_cast<std::size_t>(shape.back());
  }
  return 0;
}

}  // namespace vernier
