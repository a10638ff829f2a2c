#include "plan/normalized_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "base/float_codes.h"
#include "base/text.h"
#include "model/graph_edit.h"
#include "model/operator_traits.h"
#include "model/passes/pass.h"
#include "model/tensorrt_operators.h"
#include "plan/constant_codes.h"
#include "vernier/tensor.h"

namespace vernier {

bool is_quantization(const onnx::NodeProto& node, const char* op_type) {
  return node.op_type() == op_type && has(node, Trait::Quantizes);
}

Note recurrence_note(const std::string& op_type, const std::string& layer) {
  return {"recurrence-not-simulated", {{"layer", layer}, {"operator", op_type}}};
}

namespace {

/// The constant `scales` in float32, if they are powers of two stored as E8M0, or as its bytes.
std::optional<Tensor> decoded_powers(const Model& model, const std::string& scales, bool bytes_are_powers) {
  const auto stored = initializer(model, scales);
  if (!stored) return std::nullopt;
  const bool as_bytes = bytes_are_powers && stored->dtype() == Dtype::UInt8;
  if (!as_bytes && stored->dtype() != Dtype::Float8E8M0) return std::nullopt;
  Tensor powers(Dtype::Float32, stored->shape());
  const std::span<float> values = powers.mutable_floats();
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = float8e8m0_value(std::to_integer<std::uint8_t>(stored->bytes()[i]));
  }
  return powers;
}

/// Block scales that a file stores as codes become float32 constants, so that one DequantizeLinear is left of a weight:
/// DequantizeLinear(codes, DequantizeLinear(scales, scale of the tensor)), scales in E8M0, and TensorRT's operator.
class BlockScales {
 public:
  explicit BlockScales(Model& model) : model_(model) {}

  void decode() {
    for_each_graph(*model_.proto.mutable_graph(), [&](onnx::GraphProto& graph) {
      find_scales_of_scales(graph);
      google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
      nodes.Swap(graph.mutable_node());
      for (onnx::NodeProto& node : nodes) decode_node(graph, std::move(node));
    });
  }

 private:
  /// What DequantizeLinears make that others read as their scale, and nothing else.
  void find_scales_of_scales(const onnx::GraphProto& graph) {
    std::set<std::string> otherwise;
    for (const onnx::NodeProto& node : graph.node()) {
      for (int i = 0; i < node.input_size(); ++i) {
        (i == 1 && node.op_type() == "DequantizeLinear" ? scales_ : otherwise).insert(node.input(i));
      }
    }
    for (const onnx::ValueInfoProto& output : graph.output()) otherwise.insert(output.name());
    std::erase_if(scales_, [&](const std::string& tensor) { return otherwise.contains(tensor); });
  }

  void decode_node(onnx::GraphProto& graph, onnx::NodeProto node) {
    const bool tensorrt = is_tensorrt(node, kDequantizeMxFp8) && initializer(model_, node.input(0)).has_value();
    if (!tensorrt && !is_quantization(node, "DequantizeLinear")) {
      *graph.add_node() = std::move(node);
      return;
    }
    if (scales_.contains(node.output(0))) {
      if (const auto value = dequantized_constant(model_, node)) {
        add_initializer(model_, graph, node.output(0), *value);
        return;
      }
    }
    const auto powers = node.input_size() < 2 ? std::nullopt : decoded_powers(model_, node.input(1), tensorrt);
    if (!powers) {
      *graph.add_node() = std::move(node);
      return;
    }
    const auto type =
        static_cast<Dtype>(attribute_int(node, "output_dtype", static_cast<std::int64_t>(Dtype::Float32)));
    const std::string scale = node.output(0) + "/powers", output = node.output(0);
    add_initializer(model_, graph, scale, *powers);
    node.set_input(1, scale);
    node.set_op_type("DequantizeLinear");
    node.clear_domain();
    auto& attributes = *node.mutable_attribute();
    attributes.erase(std::remove_if(attributes.begin(), attributes.end(),
                                    [](const auto& attribute) { return attribute.name() == "output_dtype"; }),
                     attributes.end());
    if (type == Dtype::Float32) {
      *graph.add_node() = std::move(node);
      return;
    }
    node.set_output(0, output + "/float32");
    *graph.add_node() = std::move(node);
    onnx::NodeProto cast = cast_node(output + "/float32", output, type);
    cast.set_name(output + "/cast");
    *graph.add_node() = std::move(cast);
  }

  Model& model_;
  std::set<std::string> scales_;
};

}  // namespace

Model normalized_file(const Model& typed) {
  Model model = typed;
  const PrepareOptions options;
  const Evaluator evaluate;
  const passes::Context context{options, evaluate, 0};
  passes::inline_functions(model, context);
  passes::constants_to_initializers(model, context);
  index_initializers(model);
  BlockScales(model).decode();
  return model;
}

}  // namespace vernier
