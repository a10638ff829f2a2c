#include "model/contents.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/parallel.h"
#include "model/cast_codes.h"
#include "model/operator_traits.h"
#include "vernier/tensor.h"

namespace vernier {

namespace {

/// Of the graph, its bodies, and the functions of the file with theirs.
std::size_t count_nodes(const Model& model, bool (*counts)(const onnx::NodeProto&)) {
  std::size_t nodes = 0;
  const auto add = [&](const auto& graph) {
    nodes += static_cast<std::size_t>(std::ranges::count_if(graph.node(), counts));
  };
  for_each_graph(model.proto.graph(), add);
  for (const onnx::FunctionProto& function : model.proto.functions()) {
    add(function);
    for (const onnx::NodeProto& node : function.node()) {
      for (const onnx::AttributeProto& attribute : node.attribute()) {
        if (attribute.has_g()) for_each_graph(attribute.g(), add);
      }
    }
  }
  return nodes;
}

}  // namespace

std::size_t count_quantizers(const Model& model) {
  return count_nodes(model, [](const onnx::NodeProto& node) {
    return node.op_type() == "QuantizeLinear" || node.op_type() == "DynamicQuantizeLinear";
  });
}

bool holds_quantized_values(const Model& model) {
  return count_nodes(model,
                     [](const onnx::NodeProto& node) {
                       const bool dequantizes = node.op_type() == "DequantizeLinear" && has(node, Trait::Quantizes);
                       return dequantizes || has(node, Trait::ComputesOnCodes | Trait::StoresCodes);
                     }) > 0 ||
         casts_quantized_values(model);
}

std::int64_t weight_bytes(const Model& model) {
  std::int64_t bytes = 0;
  for_each_graph(model.proto.graph(), [&](const onnx::GraphProto& graph) {
    const auto add = [&](const onnx::TensorProto& tensor) {
      const Shape shape(tensor.dims().begin(), tensor.dims().end());
      bytes += element_count(shape) * dtype_bits(static_cast<Dtype>(tensor.data_type())) / 8;
    };
    for (const onnx::TensorProto& tensor : graph.initializer()) add(tensor);
    for (const onnx::NodeProto& node : graph.node()) {
      if (node.op_type() != "Constant") continue;
      for (const onnx::AttributeProto& attribute : node.attribute()) {
        if (attribute.has_t()) add(attribute.t());
      }
    }
  });
  return bytes;
}

std::string content_sha256(const Model& model) {
  Sha256 hash;
  const std::string structure = model.proto.SerializeAsString();
  hash.update(std::as_bytes(std::span(structure)));
  const std::vector<std::pair<std::string, Tensor>> weights(model.weights.begin(), model.weights.end());
  const auto digest_of = [&](std::size_t i) {
    Sha256 of_weight;
    of_weight.update(weights[i].second.bytes());
    return of_weight.hex();
  };
  parallel_ordered(weights.size(), usable_cores(), digest_of, [&](std::size_t i, const std::string& digest) {
    hash.update(std::as_bytes(std::span(weights[i].first)));
    hash.update(std::as_bytes(std::span(digest)));
    return true;
  });
  return hash.hex();
}

}  // namespace vernier
