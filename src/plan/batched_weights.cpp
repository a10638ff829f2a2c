#include "plan/batched_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>

#include "model/graph_edit.h"
#include "model/operator_traits.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

using Node = onnx::NodeProto;

/// What ONNX Runtime is known to move a QuantizeLinear over, or to drop in front of it, on its way to a fusion.
bool quantized_behind(const QdqGraph& graph, const std::string& tensor) {
  return std::ranges::any_of(graph.readers(tensor), [&](const Node* reader) {
    if (QdqGraph::quantizes(*reader)) return true;
    return has(*reader, Trait::Moves | Trait::Clips) && reader->input(0) == tensor &&
           quantized_behind(graph, reader->output(0));
  });
}

bool has_zero_point(const Node& dequantizer) { return dequantizer.input_size() > 2 && !dequantizer.input(2).empty(); }

/// The 8-bit codes of a weight with several scales and more than two dimensions, and its DequantizeLinear.
struct BatchedWeight {
  const Node* dequantizer = nullptr;
  std::size_t rank = 0;
  bool by_column = false;
};

std::optional<BatchedWeight> batched_weight(const QdqGraph& graph, const Node& matmul) {
  if (!is_onnx(matmul, "MatMul") || graph.dequantizer(matmul.input(0)) == nullptr) return std::nullopt;
  const Node* const weight = graph.dequantizer(matmul.input(1));
  if (weight == nullptr || !graph.of_constant(*weight)) return std::nullopt;
  const Node* const quantizer = graph.maker(weight->input(0));
  const auto held = graph.value(quantizer == nullptr ? weight->input(0) : quantizer->input(0));
  const auto scale = graph.value(weight->input(1));
  if (!held || held->shape().size() < 3 || !scale || scale->shape().size() != 1 || scale->count() < 2) {
    return std::nullopt;
  }
  if (const Dtype codes = graph.codes_type(*weight); codes != Dtype::Int8 && codes != Dtype::UInt8) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(held->shape().size());
  const std::int64_t axis = attribute_int(*weight, "axis", 1);
  return BatchedWeight{weight, held->shape().size(), (axis < 0 ? axis + rank : axis) == rank - 1};
}

/// Cheap: types of large networks are inferred only where there is reason to.
bool may_have_batched_weights(const Model& typed) {
  bool found = false;
  for_each_graph(typed.proto.graph(), [&](const onnx::GraphProto& graph) {
    found = found || std::ranges::any_of(graph.node(), [](const Node& node) {
              return QdqGraph::dequantizes(node) && attribute_int(node, "axis", 1) >= 2;
            });
  });
  return found;
}

}  // namespace

std::string refused_batched_weight(const QdqGraph& graph, const Node& matmul) {
  const auto weight = batched_weight(graph, matmul);
  if (!weight) return {};
  const bool codes_behind = quantized_behind(graph, matmul.output(0));
  if (weight->by_column && !codes_behind && !has_zero_point(*weight->dequantizer)) return {};
  return fmt::format("its weight has {} dimensions and several scales{}", weight->rank,
                     !weight->by_column ? ", not along the columns"
                     : codes_behind     ? ", and its result is quantized"
                                        : ", with zero points");
}

void fit_batched_weights(Model& typed, NamePool& names) {
  if (!may_have_batched_weights(typed)) return;
  std::set<std::string> dequantized;  // weights
  std::set<std::string> apart;        // results that are to be kept from a QuantizeLinear
  std::set<std::string> zero_points;
  for (const QdqGraph& graph : QdqGraph::all_of(typed)) {
    for (const Node& node : graph.graph().node()) {
      const auto weight = batched_weight(graph, node);
      if (!weight || !weight->by_column) continue;
      const auto params = graph.params(*weight->dequantizer);
      if (!params || !params->zero_point.empty()) continue;
      dequantized.insert(weight->dequantizer->output(0));
      if (has_zero_point(*weight->dequantizer)) zero_points.insert(weight->dequantizer->input(2));
      if (quantized_behind(graph, node.output(0))) apart.insert(node.output(0));
    }
  }
  if (dequantized.empty()) return;
  for_each_graph(*typed.proto.mutable_graph(), [&](onnx::GraphProto& graph) {
    google::protobuf::RepeatedPtrField<Node> nodes;
    nodes.Swap(graph.mutable_node());
    for (Node& node : nodes) {
      const std::string output = node.output_size() > 0 ? node.output(0) : std::string();
      if (dequantized.contains(output)) node.mutable_input()->DeleteSubrange(2, node.input_size() - 2);
      Node& kept = *graph.add_node();
      kept.Swap(&node);
      if (!apart.contains(output)) continue;
      kept.set_output(0, names.unique(output + "_unfused"));
      const std::string made = kept.output(0);
      Node& sum = *graph.add_node();
      sum.set_op_type("Sum");
      sum.set_name(names.unique(output + "_stays_unfused"));
      sum.add_input(made);
      sum.add_output(output);
    }
  });
  for_each_graph(typed.proto.graph(), [&](const onnx::GraphProto& graph) {
    for (const Node& node : graph.node()) {
      for (const std::string& input : node.input()) zero_points.erase(input);
    }
  });
  remove_initializers(typed, zero_points);
}

}  // namespace vernier
