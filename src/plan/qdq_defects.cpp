#include "plan/qdq_defects.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>

#include "base/text.h"
#include "model/operator_traits.h"
#include "model/output_channels.h"
#include "plan/constant_codes.h"
#include "plan/simulate_typed.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

std::string scale_text(const QuantParams& params) {
  const std::string scales =
      params.scale.size() == 1 ? fmt::format("{:g}", params.scale.front()) : plural(params.scale.size(), "scale");
  const int zero = params.zero_point.empty() ? 0 : params.zero_point.front();
  return fmt::format("{}, zero point {}", scales, zero);
}

class Finder {
 public:
  explicit Finder(const Model& file) : file_(file), types_(infer_types(file)) {
    for_each_graph(file.proto.graph(), [&](const onnx::GraphProto& graph) {
      for (const onnx::NodeProto& node : graph.node()) {
        for (const std::string& output : node.output()) made_by_[output] = &node;
        quantizes_ = quantizes_ || (is_quantization(node, "QuantizeLinear") && !is_initializer(file, node.input(0)));
      }
    });
  }

  std::vector<QdqDefect> run() {
    for_each_graph(file_.proto.graph(), [&](const onnx::GraphProto& graph) {
      for (const onnx::NodeProto& node : graph.node()) look_at(node);
    });
    return std::move(defects_);
  }

 private:
  void look_at(const onnx::NodeProto& node) {
    const bool dequantizes = is_quantization(node, "DequantizeLinear");
    if (dequantizes || is_quantization(node, "QuantizeLinear")) {
      scales(node);
      zero_point(node);
    }
    if (dequantizes) same_parameters(node);
    if (!has(node, Trait::Weighted)) return;
    missing(node);
    axis(node);
    bias(node);
  }

  void add(const char* kind, const onnx::NodeProto& node, std::string text) {
    defects_.push_back({kind, node.name(), std::move(text)});
  }

  const onnx::NodeProto* dequantizer_of(const std::string& tensor) const {
    const auto made = made_by_.find(tensor);
    if (made == made_by_.end()) return nullptr;
    // A cast between them changes the type of the values alone.
    if (made->second->op_type() == "Cast") return dequantizer_of(made->second->input(0));
    return is_quantization(*made->second, "DequantizeLinear") ? made->second : nullptr;
  }

  /// True when the values of `tensor` are dequantized ones, moved perhaps. What fills in others may leave their grid.
  bool quantized(const std::string& tensor) const {
    if (dequantizer_of(tensor) != nullptr) return true;
    const auto made = made_by_.find(tensor);
    if (made == made_by_.end()) return false;
    const onnx::NodeProto& node = *made->second;
    if (has(node, Trait::Joins)) {
      return std::ranges::all_of(node.input(), [&](const std::string& input) { return quantized(input); });
    }
    return has(node, Trait::Moves | Trait::Selects) && quantized(node.input(0));
  }

  ValueType type_of(const std::string& tensor) const {
    const auto found = types_.find(tensor);
    return found == types_.end() ? ValueType{} : found->second;
  }

  /// Parameters of a node; codes are what it reads (DequantizeLinear) or makes.
  std::optional<QuantParams> params_of(const onnx::NodeProto& node) const {
    const bool dequantizes = is_quantization(node, "DequantizeLinear");
    return quantization_of(file_, node, type_of(dequantizes ? node.input(0) : node.output(0)));
  }

  void scales(const onnx::NodeProto& node) {
    const auto scale = node.input_size() > 1 ? initializer(file_, node.input(1)) : std::nullopt;
    if (!scale || scale->dtype() != Dtype::Float32) return;
    for (const float value : scale->floats()) {
      if (std::isfinite(value) && value > 0) continue;
      return add("bad-scale", node, fmt::format("its scale '{}' holds {:g}", printable(node.input(1)), value));
    }
  }

  void zero_point(const onnx::NodeProto& node) {
    if (node.input_size() < 3 || node.input(2).empty()) return;
    const auto zero = initializer(file_, node.input(2));
    if (!zero) return;
    const bool dequantizes = is_quantization(node, "DequantizeLinear");
    Dtype codes = type_of(dequantizes ? node.input(0) : node.output(0)).dtype;
    if (dequantizes) {
      if (const auto constant = initializer(file_, node.input(0))) codes = constant->dtype();
      const auto made = made_by_.find(node.input(0));
      if (made != made_by_.end() && is_quantization(*made->second, "QuantizeLinear")) codes = codes_of(*made->second);
    }
    if (codes != Dtype::Undefined && codes != zero->dtype()) {
      return add("zero-point-type", node,
                 fmt::format("its zero point is {}, the codes are {}", dtype_name(zero->dtype()), dtype_name(codes)));
    }
    if (codes != Dtype::Int32) return;
    const bool all_zero = std::ranges::all_of(zero->bytes(), [](std::byte byte) { return byte == std::byte{0}; });
    if (!all_zero) add("zero-point-type", node, "the zero point of a bias in 32 bits must be zero");
  }

  /// Type that a QuantizeLinear makes: that of its zero point.
  Dtype codes_of(const onnx::NodeProto& quantize) const {
    if (quantize.input_size() > 2 && !quantize.input(2).empty()) {
      const auto zero = initializer(file_, quantize.input(2));
      return zero ? zero->dtype() : Dtype::Undefined;
    }
    const std::int64_t attribute = attribute_int(quantize, "output_dtype", 0);
    return attribute != 0 ? static_cast<Dtype>(attribute) : Dtype::UInt8;
  }

  void same_parameters(const onnx::NodeProto& dequantize) {
    const auto made = made_by_.find(dequantize.input(0));
    if (made == made_by_.end() || !is_quantization(*made->second, "QuantizeLinear")) return;
    const auto before = params_of(*made->second);
    const auto after = params_of(dequantize);
    if (!before || !after || *before == *after || before->format != after->format) return;
    add("other-scale", dequantize,
        fmt::format("it dequantizes with {} what '{}' quantized with {}", scale_text(*after),
                    printable(made->second->name()), scale_text(*before)));
  }

  void missing(const onnx::NodeProto& node) {
    if (node.input_size() < 2) return;
    const bool first = quantized(node.input(0));
    const bool second = quantized(node.input(1));
    if (first == second || (second && !quantizes_)) return;
    const int without = first ? 1 : 0;
    add("missing-quantizer", node,
        fmt::format("its input {} '{}' is not quantized, input {} is: it runs in float", without,
                    printable(node.input(without)), 1 - without));
  }

  void axis(const onnx::NodeProto& node) {
    const onnx::NodeProto* dequantize = node.input_size() > 1 ? dequantizer_of(node.input(1)) : nullptr;
    if (dequantize == nullptr) return;
    const auto scale = initializer(file_, dequantize->input(1));
    if (!scale || scale->shape().size() != 1 || scale->count() < 2) return;
    const ValueType weight = type_of(dequantize->output(0));
    const Shape shape =
        is_initializer(file_, dequantize->input(0)) ? initializer(file_, dequantize->input(0))->shape() : weight.shape;
    const auto rank = static_cast<std::int64_t>(shape.size());
    std::int64_t axis = attribute_int(*dequantize, "axis", 1);
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank) {
      return add("wrong-axis", *dequantize, fmt::format("axis {} of a weight of shape {}", axis, shape_text(shape)));
    }
    const std::int64_t length = shape[static_cast<std::size_t>(axis)];
    if (length != scale->count()) {
      return add(
          "wrong-axis", *dequantize,
          fmt::format("{} scales along axis {} of a weight of shape {}", scale->count(), axis, shape_text(shape)));
    }
    const int wanted = weight_axis(node, shape);
    if (wanted < 0 || axis == wanted) return;
    add("wrong-axis", *dequantize,
        fmt::format("the scales run along axis {}, the output channels of '{}' ({}) along axis {}", axis,
                    printable(node.name()), node.op_type(), wanted));
  }

  void bias(const onnx::NodeProto& node) {
    if (node.input_size() < 3 || node.input(2).empty()) return;
    const onnx::NodeProto* bias = dequantizer_of(node.input(2));
    const onnx::NodeProto* data = dequantizer_of(node.input(0));
    const onnx::NodeProto* weight = dequantizer_of(node.input(1));
    if (bias == nullptr || data == nullptr || weight == nullptr) return;
    const auto codes = initializer(file_, bias->input(0));
    const auto given = initializer(file_, bias->input(1));
    const auto data_params = params_of(*data);
    const auto weight_params = params_of(*weight);
    if (!codes || codes->dtype() != Dtype::Int32 || !given || given->dtype() != Dtype::Float32) return;
    if (!data_params || !weight_params || data_params->scale.size() != 1) return;
    const std::span<const float> scales = given->floats();
    for (std::size_t c = 0; c < scales.size(); ++c) {
      const std::vector<float>& weights = weight_params->scale;
      if (weights.size() != 1 && weights.size() != scales.size()) return;
      const float wanted = data_params->scale.front() * weights[weights.size() == 1 ? 0 : c];
      if (std::abs(scales[c] - wanted) <= 1e-5F * wanted) continue;  // a few roundings of float32
      return add(
          "bias-scale", *bias,
          fmt::format("scale {:g} of channel {} is not input scale times weight scale, {:g}", scales[c], c, wanted));
    }
  }

  const Model& file_;
  std::map<std::string, ValueType> types_;
  std::map<std::string, const onnx::NodeProto*> made_by_;
  bool quantizes_ = false;  // some activation
  std::vector<QdqDefect> defects_;
};

}  // namespace

std::vector<QdqDefect> find_qdq_defects(const Model& file) { return Finder(file).run(); }

}  // namespace vernier
