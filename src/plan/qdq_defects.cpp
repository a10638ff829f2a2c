#include "plan/qdq_defects.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/text.h"
#include "model/cast_codes.h"
#include "model/operator_traits.h"
#include "model/output_channels.h"
#include "numerics/round.h"
#include "plan/bad_scales.h"
#include "plan/cast_decoders.h"
#include "plan/constant_codes.h"
#include "plan/integer_bias.h"
#include "plan/pair_form.h"
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
  explicit Finder(const Model& file) : file_(file), types_(infer_types(file)), decoded_(decoded_weights(file)) {
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
    for (QdqDefect& defect : bad_scales(file_, made_by_, decoded_, node)) defects_.push_back(std::move(defect));
    const bool dequantizes = is_quantization(node, "DequantizeLinear");
    if (dequantizes || is_quantization(node, "QuantizeLinear")) {
      opset(node);
      scale_type(node);
      zero_point(node);
      layout(node);
    }
    if (dequantizes) same_parameters(node);
    if (!has(node, Trait::Weighted)) return;
    missing(node);
    mixed_types(node);
    axis(node);
    bias(node);
  }

  void add(const char* kind, const onnx::NodeProto& node, std::string text) {
    defects_.push_back({kind, node.name(), std::move(text)});
  }
  void add_refused(const char* kind, const onnx::NodeProto& node, std::string text, std::string cure) {
    defects_.push_back({kind, node.name(), std::move(text), std::move(cure), /*refused=*/true});
  }
  void add_perhaps_meant(const char* kind, const onnx::NodeProto& node, std::string text) {
    defects_.push_back({kind, node.name(), std::move(text), {}, /*refused=*/false, /*may_be_meant=*/true});
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

  /// True when float operators compute `tensor` from quantized values that are constant: a weight that no
  /// DequantizeLinear decodes.
  bool decoded(const std::string& tensor) const {
    const auto made = made_by_.find(tensor);
    if (made == made_by_.end()) return false;
    const onnx::NodeProto& node = *made->second;
    if (node.op_type() == "Cast") {
      const auto codes = initializer(file_, node.input(0));
      return codes ? !is_float(codes->dtype()) : decoded(node.input(0));
    }
    const auto is_constant = [&](const std::string& input) { return is_initializer(file_, input) || decoded(input); };
    const bool arithmetic = has(node, Trait::Elementwise) && std::ranges::all_of(node.input(), is_constant);
    return (arithmetic || has(node, Trait::Moves)) &&
           std::ranges::any_of(node.input(), [&](const auto& input) { return decoded(input); });
  }

  /// True when `tensor` is a weight in 4 bits or in blocks, or one that Casts decode, for a product in float.
  bool decoded_for_float(const std::string& tensor) const {
    const onnx::NodeProto* dequantize = dequantizer_of(tensor);
    if (dequantize == nullptr) return false;
    if (stands_for_casts(*dequantize)) return true;
    const auto codes = initializer(file_, dequantize->input(0));
    return codes && (codes->dtype() == Dtype::Int4 || codes->dtype() == Dtype::UInt4 ||
                     codes->dtype() == Dtype::Float4E2M1 || attribute_int(*dequantize, "block_size", 0) > 0);
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

  static bool is_float(Dtype type) {
    return type == Dtype::Float32 || type == Dtype::Float16 || type == Dtype::BFloat16;
  }

  std::optional<Tensor> scale_of(const onnx::NodeProto& node) const {
    auto scale = node.input_size() > 1 ? initializer(file_, node.input(1)) : std::nullopt;
    if (scale && !is_float(scale->dtype())) scale.reset();
    return scale;
  }

  /// What is quantized or dequantized, as far as its shape is known.
  Shape shape_of(const onnx::NodeProto& node) const {
    if (const auto constant = initializer(file_, node.input(0))) return constant->shape();
    const ValueType data = type_of(node.input(0));
    const ValueType result = type_of(node.output(0));
    return data.rank_known ? data.shape : result.rank_known ? result.shape : Shape{};
  }

  /// ONNX's QuantizeLinear takes a scale of another type than its data from opset 23 on, that of ONNX Runtime never.
  void scale_type(const onnx::NodeProto& node) {
    constexpr int kAnyScale = 23;
    const bool of_onnx = node.domain().empty() || node.domain() == "ai.onnx";
    const auto scale = scale_of(node);
    if (!is_quantization(node, "QuantizeLinear") || !scale || (of_onnx && default_opset(file_.proto) >= kAnyScale))
      return;
    const auto constant = initializer(file_, node.input(0));
    const Dtype data = constant ? constant->dtype() : type_of(node.input(0)).dtype;
    if (!is_float(data) || data == scale->dtype()) return;
    add_first_of_types(node,
                       fmt::format("its scale '{}' is {}, and what it quantizes is {}", printable(node.input(1)),
                                   dtype_name(scale->dtype()), dtype_name(data)),
                       fmt::format("store the scale in {}", dtype_name(data)));
  }

  /// Types of all that is behind follow from the first wrong one.
  void add_first_of_types(const onnx::NodeProto& node, std::string text, std::string cure) {
    if (!wrong_type_) add_refused("scale-type", node, std::move(text), std::move(cure));
    wrong_type_ = true;
  }

  /// What a DequantizeLinear makes has the type of its scale, and an operator reads inputs of one type.
  void mixed_types(const onnx::NodeProto& node) {
    const auto dequantized = [&](const std::string& tensor) {
      const auto made = made_by_.find(tensor);
      return made != made_by_.end() && is_quantization(*made->second, "DequantizeLinear");
    };
    const Dtype first = type_of(node.input(0)).dtype;
    for (int i = 1; i < node.input_size(); ++i) {
      const auto constant = node.input(i).empty() ? std::nullopt : initializer(file_, node.input(i));
      const Dtype other = constant ? constant->dtype() : type_of(node.input(i)).dtype;
      if (!is_float(first) || !is_float(other) || first == other) continue;
      if (!dequantized(node.input(0)) && !dequantized(node.input(i))) continue;
      return add_first_of_types(
          node,
          fmt::format("it reads '{}' in {} and '{}' in {}: what is dequantized has the type of its scale",
                      printable(node.input(0)), dtype_name(first), printable(node.input(i)), dtype_name(other)),
          "scales of one type");
    }
  }

  /// Types and attributes that ONNX's own operators have from a later opset on.
  void opset(const onnx::NodeProto& node) {
    if (!node.domain().empty() && node.domain() != "ai.onnx") return;
    if (stands_for_operator(node)) return;  // the file has another node, which its opset has
    int needed = 10;
    std::string what;
    const auto need = [&](int opset, std::string uses) {
      if (opset <= needed) return;
      needed = opset;
      what = std::move(uses);
    };
    const auto need_type = [&](Dtype type) {
      switch (type) {
        case Dtype::Float8E4M3FN:
        case Dtype::Float8E5M2:
          return need(19, fmt::format("values in {}", dtype_name(type)));
        case Dtype::Float4E2M1:
          return need(23, fmt::format("values in {}", dtype_name(type)));
        case Dtype::Int4:
        case Dtype::UInt4:
        case Dtype::Int16:
        case Dtype::UInt16:
          return need(21, fmt::format("values in {}", dtype_name(type)));
        default:
          return;
      }
    };
    if (const auto codes = initializer(file_, node.input(0))) need_type(codes->dtype());
    for (const std::string& tensor : node.output()) need_type(type_of(tensor).dtype);
    if (node.input_size() > 2) {
      if (const auto zero = initializer(file_, node.input(2))) need_type(zero->dtype());
    }
    const auto scale = scale_of(node);
    if (scale && scale->count() > 1) need(13, "several scales");
    if (scale && scale->dtype() != Dtype::Float32) need(19, fmt::format("a scale in {}", dtype_name(scale->dtype())));
    if (attribute_int(node, "block_size", 0) > 0) need(21, "blocks");
    if (attribute_int(node, "output_dtype", 0) != 0) need(21, "the attribute 'output_dtype'");
    const int has = default_opset(file_.proto);
    if (needed <= has) return;
    add_refused(
        "newer-opset", node,
        fmt::format("{} takes {} from opset {} on, and the file has opset {}", node.op_type(), what, needed, has),
        fmt::format("write the file in opset {}", needed));
  }

  /// Do scales and zero points lie on the tensor?
  void layout(const onnx::NodeProto& node) {
    const auto scale = node.input_size() > 1 ? initializer(file_, node.input(1)) : std::nullopt;
    if (!scale) return;
    const Shape shape = shape_of(node);
    const auto rank = static_cast<std::int64_t>(shape.size());
    std::int64_t axis = attribute_int(node, "axis", 1);
    const std::int64_t given = axis;
    if (axis < 0) axis += rank;
    const std::int64_t block = attribute_int(node, "block_size", 0);
    if (block == 0 && scale->count() == 1) return;
    if (shape.empty()) return;
    const std::string tensor = fmt::format("a tensor of shape {}", shape_text(shape));
    if (axis < 0 || axis >= rank) {
      return add_refused("wrong-axis", node, fmt::format("axis {} of {}", given, tensor), "the axis of the channels");
    }
    const std::int64_t length = shape[static_cast<std::size_t>(axis)];
    if (block == 0) {
      if (scale->shape().size() == 1 && (length == scale->count() || length <= 0)) return;
      return add_refused("wrong-axis", node, fmt::format("{} scales along axis {} of {}", scale->count(), axis, tensor),
                         "a vector of as many scales as the axis is long");
    }
    if (std::ranges::any_of(shape, [](std::int64_t dim) { return dim <= 0; })) return;
    Shape wanted = shape;
    wanted[static_cast<std::size_t>(axis)] = (length + block - 1) / block;
    if (scale->shape() != wanted) {
      return add_refused("wrong-blocks", node,
                         fmt::format("scales of shape {} for blocks of {} along axis {} of {}, which has {}",
                                     shape_text(scale->shape()), block, axis, tensor, shape_text(wanted)),
                         "one scale for each block");
    }
    if (length % block == 0) return;
    defects_.push_back({"short-block", node.name(),
                        fmt::format("blocks of {} do not divide the {} values along axis {} of {}: ONNX allows a last "
                                    "block that is shorter, TensorRT wants whole blocks",
                                    block, length, axis, tensor),
                        "use a block size that divides the axis, or pad the axis",
                        /*refused=*/false,
                        /*may_be_meant=*/true,
                        /*refused_by_tensorrt=*/true});
  }

  void zero_point(const onnx::NodeProto& node) {
    if (node.input_size() < 3 || node.input(2).empty()) return;
    const auto zero = initializer(file_, node.input(2));
    if (!zero) return;
    const auto scale = scale_of(node);
    if (scale && scale->shape() != zero->shape() && (scale->count() != 1 || zero->count() != 1)) {
      return add_refused("parameter-shape", node,
                         fmt::format("its scale has shape {}, its zero point {}", shape_text(scale->shape()),
                                     shape_text(zero->shape())),
                         "one zero point for each scale");
    }
    const bool dequantizes = is_quantization(node, "DequantizeLinear");
    Dtype codes = type_of(dequantizes ? node.input(0) : node.output(0)).dtype;
    if (dequantizes) {
      if (const auto constant = initializer(file_, node.input(0))) codes = constant->dtype();
      const auto made = made_by_.find(node.input(0));
      if (made != made_by_.end() && is_quantization(*made->second, "QuantizeLinear")) codes = codes_of(*made->second);
    }
    if (codes != Dtype::Undefined && codes != zero->dtype()) {
      return add_refused(
          "zero-point-type", node,
          fmt::format("its zero point is {}, the values are {}", dtype_name(zero->dtype()), dtype_name(codes)),
          "a zero point of the type of the values");
    }
    if (codes != Dtype::Int32) return;
    const bool all_zero = std::ranges::all_of(zero->bytes(), [](std::byte byte) { return byte == std::byte{0}; });
    if (!all_zero) {
      add_refused("zero-point-type", node, "the zero point of a bias in 32 bits must be zero", "zero, or none at all");
    }
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
    if (second ? decoded_for_float(node.input(1)) : decoded(node.input(1))) return;
    const int without = first ? 1 : 0;
    add_perhaps_meant("missing-quantizer", node,
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
    if (axis < 0 || axis >= rank || shape[static_cast<std::size_t>(axis)] != scale->count())
      return;  // layout() says so
    const int wanted = weight_axis(node, shape);
    if (wanted < 0 || axis == wanted || !quantized(node.input(0))) return;  // float products take any axis
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
    if (codes) clipped(node, *bias, *codes);
    const auto given = initializer(file_, bias->input(1));
    const auto data_params = params_of(*data);
    const auto weight_params = params_of(*weight);
    if (!codes || codes->dtype() != Dtype::Int32 || !given || given->dtype() != Dtype::Float32) return;
    if (!data_params || !weight_params || data_params->scale.size() != 1) return;
    const auto other = other_bias_scale(node, data_params->scale.front(), weight_params->scale, given->floats());
    if (!other) return;
    add_perhaps_meant("bias-scale", *bias,
                      fmt::format("scale {:g} of channel {} is not {}, {:g}", other->given, other->channel,
                                  bias_scale_words(node), other->wanted));
  }

  /// What a quantizer stores of a bias that is more than 2^31 of its steps.
  void clipped(const onnx::NodeProto& node, const onnx::NodeProto& bias, const Tensor& codes) {
    const auto scale = scale_of(bias);
    if (codes.dtype() != Dtype::Int32 || !scale) return;
    const std::vector<float> scales = scales_of(*scale);
    const auto count = static_cast<std::size_t>(codes.count());
    if (scales.size() != 1 && scales.size() != count) return;
    std::size_t ends = 0;
    std::string first;
    for (std::size_t c = 0; c < count; ++c) {
      std::int32_t code = 0;
      std::memcpy(&code, codes.bytes().data() + c * sizeof code, sizeof code);
      if (code != std::numeric_limits<std::int32_t>::max() && code > -std::numeric_limits<std::int32_t>::max())
        continue;
      if (ends++ > 0) continue;
      const float step = scales[scales.size() == 1 ? 0 : c];
      first = fmt::format("channel {} is stored as {}, the end of int32, which stands for {:g} at scale {:g}", c, code,
                          static_cast<float>(code) * step, step);
    }
    if (ends == 0) return;
    add("clipped-bias", bias,
        fmt::format("{} of {} values of the bias of '{}' did not fit: {}", ends, count, printable(node.name()), first));
    defects_.back().cure =
        "widen the weight scale of these channels until the bias fits (ONNX Runtime's quantizer does so unless "
        "QDQDisableWeightAdjustForInt32Bias is set), or keep the bias in float";
  }

  const Model& file_;
  std::map<std::string, ValueType> types_;
  std::map<std::string, const onnx::NodeProto*> made_by_;
  const std::set<std::string> decoded_;  // weights, by Casts
  bool quantizes_ = false;               // some activation
  bool wrong_type_ = false;              // of a scale, was found
  std::vector<QdqDefect> defects_;
};

}  // namespace

std::vector<QdqDefect> find_qdq_defects(const Model& file) { return Finder(file).run(); }

}  // namespace vernier
