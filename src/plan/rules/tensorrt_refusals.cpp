#include "plan/rules/tensorrt_refusals.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "model/graph_edit.h"
#include "model/tensorrt_operators.h"
#include "plan/block_activations.h"
#include "plan/normalized_file.h"
#include "plan/recurrent_casts.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

using Node = onnx::NodeProto;

constexpr std::string_view kKeepInFloat = "keep the layer in high precision (‹layer-precisions› NAME:float32)";

class Refusals {
 public:
  explicit Refusals(const Model& file) : file_(file) {
    for_each_graph(file.proto.graph(), [&](const onnx::GraphProto& graph) {
      for (const onnx::TensorProto& tensor : graph.initializer()) stored_[tensor.name()] = &tensor;
      for (const Node& node : graph.node()) {
        for (const std::string& output : node.output()) makers_[output] = &node;
      }
    });
  }

  std::vector<PlacementFinding> find() {
    for_each_graph(file_.proto.graph(), [&](const onnx::GraphProto& graph) {
      for (const Node& node : graph.node()) {
        if (is_quantization(node, "QuantizeLinear") || is_quantization(node, "DequantizeLinear")) look_at_types(node);
        look_at_block(node);
        look_at_run(node);
      }
    });
    for (const std::string& layer : layers_behind_casts(file_)) {
      add("recurrent-behind-cast", layer,
          "it reads a sequence that is cast to float32 from a type of 16 bits, and the engine moves that Cast into the "
          "layer's loop",
          "put an operator between them that computes, as ‹vernier convert› does");
    }
    return std::move(findings_);
  }

 private:
  void add(std::string_view rule, const std::string& node, std::string why, std::string_view change) {
    PlacementFinding finding;
    finding.rule = rule;
    finding.node = node;
    finding.why = std::move(why);
    finding.change = change;
    finding.compiled = "refused";
    finding.refused = true;
    findings_.push_back(std::move(finding));
  }

  const onnx::TensorProto* stored(const Node& node, int index) const {
    const auto found = index < node.input_size() ? stored_.find(node.input(index)) : stored_.end();
    return found == stored_.end() ? nullptr : found->second;
  }

  Dtype type_of(const Node& node, int index) const {
    const onnx::TensorProto* const tensor = stored(node, index);
    return tensor == nullptr ? Dtype::Undefined : static_cast<Dtype>(tensor->data_type());
  }

  void look_at_types(const Node& node) {
    for (const int index : {0, 2}) {
      const Dtype type = type_of(node, index);
      if (type != Dtype::Float8E5M2 && type != Dtype::UInt4) continue;
      add("refused-code-type", node.name(), fmt::format("the engine has no quantized values in {}", dtype_name(type)),
          type == Dtype::UInt4 ? "quantize to INT4" : "quantize to FP8 in E4M3 (‹vernier convert --fp8›)");
      return;
    }
    if (type_of(node, 1) == Dtype::Float8E8M0) {
      add("refused-code-type", node.name(), "the engine has no scales in float8e8m0 outside its own operators",
          "quantize to NVFP4 or MXFP8");
    }
  }

  /// The stored scales of a weight in blocks, in front of a DequantizeLinear that makes them floats or not.
  const onnx::TensorProto* block_scales(const Node& node) const {
    if (const onnx::TensorProto* const scales = stored(node, 1)) return scales;
    const auto made = node.input_size() > 1 ? makers_.find(node.input(1)) : makers_.end();
    return made == makers_.end() || !is_quantization(*made->second, "DequantizeLinear") ? nullptr
                                                                                        : stored(*made->second, 0);
  }

  void look_at_block(const Node& node) {
    const bool blocks = is_tensorrt(node, kDequantizeMxFp8) ||
                        (is_quantization(node, "DequantizeLinear") && attribute_int(node, "block_size", 0) > 0);
    const onnx::TensorProto* const scales = blocks && stored(node, 0) != nullptr ? block_scales(node) : nullptr;
    if (scales == nullptr || element_count(Shape(scales->dims().begin(), scales->dims().end())) != 1) return;
    add("one-block", node.name(), std::string(kOneBlockOfWeight), kKeepInFloat);
  }

  void look_at_run(const Node& node) {
    const bool four_bits = is_tensorrt(node, kQuantizeNvFp4);
    if ((!four_bits && !is_tensorrt(node, kQuantizeMxFp8)) || node.input_size() == 0) return;
    if (!types_) types_ = infer_types(file_);
    const auto type = types_->find(node.input(0));
    if (type == types_->end()) return;
    const std::string why = refused_block_activation(type->second, four_bits ? Format::NvFp4 : Format::MxFp8);
    if (!why.empty()) add("block-activation", node.name(), why, kKeepInFloat);
  }

  const Model& file_;
  std::map<std::string, const onnx::TensorProto*> stored_;
  std::map<std::string, const Node*> makers_;
  std::optional<std::map<std::string, ValueType>> types_;
  std::vector<PlacementFinding> findings_;
};

}  // namespace

std::vector<PlacementFinding> tensorrt_refusals(const Model& file) { return Refusals(file).find(); }

}  // namespace vernier
