#include "plan/bad_scales.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/text.h"
#include "model/graph_edit.h"
#include "model/operator_traits.h"
#include "numerics/round.h"
#include "plan/cast_decoders.h"
#include "plan/constant_codes.h"
#include "plan/nbits_weight.h"
#include "plan/normalized_file.h"
#include "plan/pair_form.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

using NodeMakers = std::map<std::string, const onnx::NodeProto*>;

constexpr int kNone = -1;

/// Where operators read scales, and which input has what the first of them is the scale of.
struct ScaleInputs {
  std::string_view op_type;
  std::array<int, 3> scales;
  std::array<int, 3> codes;
};

constexpr std::array kScaleInputs{
    ScaleInputs{"QuantizeLinear", {1, kNone, kNone}, {0, kNone, kNone}},
    ScaleInputs{"DequantizeLinear", {1, kNone, kNone}, {0, kNone, kNone}},
    ScaleInputs{"QLinearConv", {1, 4, 6}, {0, 3, kNone}},
    ScaleInputs{"QLinearMatMul", {1, 4, 6}, {0, 3, kNone}},
    ScaleInputs{"QGemm", {1, 4, 7}, {0, 3, kNone}},
    ScaleInputs{"QLinearAdd", {1, 4, 6}, {0, 3, kNone}},
    ScaleInputs{"QLinearMul", {1, 4, 6}, {0, 3, kNone}},
    ScaleInputs{"QLinearWhere", {2, 5, 7}, {1, 4, kNone}},
    ScaleInputs{"QLinearConcat", {0, kNone, kNone}, {kNone, kNone, kNone}},
    ScaleInputs{"QLinearAveragePool", {1, 3, kNone}, {0, kNone, kNone}},
    ScaleInputs{"QLinearGlobalAveragePool", {1, 3, kNone}, {0, kNone, kNone}},
    ScaleInputs{"QLinearLeakyRelu", {1, 3, kNone}, {0, kNone, kNone}},
    ScaleInputs{"QLinearReduceMean", {1, 3, kNone}, {0, kNone, kNone}},
    ScaleInputs{"QLinearSigmoid", {1, 3, kNone}, {0, kNone, kNone}},
    ScaleInputs{"QLinearSoftmax", {1, 3, kNone}, {0, kNone, kNone}},
    ScaleInputs{"MatMulIntegerToFloat", {2, 3, kNone}, {0, 1, kNone}},
    ScaleInputs{"DynamicQuantizeMatMul", {2, kNone, kNone}, {1, kNone, kNone}},
    ScaleInputs{"QAttention", {3, 4, kNone}, {0, 1, kNone}},
    ScaleInputs{"DynamicQuantizeLSTM", {8, 10, kNone}, {1, 2, kNone}},
    ScaleInputs{"MatMulNBits", {2, kNone, kNone}, {1, kNone, kNone}},
};

bool is_float_scale(const Tensor& scale) {
  return scale.dtype() == Dtype::Float32 || scale.dtype() == Dtype::Float16 || scale.dtype() == Dtype::BFloat16;
}

/// Of 8 bits or more, or of four, two in a byte.
bool is_zero(const Tensor& values, std::size_t element) {
  const std::size_t width = values.byte_size() / static_cast<std::size_t>(values.count());
  if (width == 0) return (std::to_integer<unsigned>(values.bytes()[element / 2]) >> (element % 2 * 4) & 15U) == 0;
  const auto bytes = values.bytes().subspan(element * width, width);
  return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; });
}

/// True when the constant that the node reads, directly or behind a QuantizeLinear, is zero wherever it has this scale.
bool is_dead_channel(const Model& file, const NodeMakers& made_by, const onnx::NodeProto& node,
                     const std::string& codes, std::size_t scale, std::size_t scales) {
  const auto made = made_by.find(codes);
  const bool paired = made != made_by.end() && is_quantization(*made->second, "QuantizeLinear");
  const auto values = initializer(file, paired ? made->second->input(0) : codes);
  if (!values || values->count() == 0) return false;
  const auto rank = static_cast<std::int64_t>(values->shape().size());
  // Operators on codes have the scales of a convolution along its first dimension, and others along the last one.
  const std::int64_t fallback = has(node, Trait::Quantizes) ? 1 : node.op_type() == "QLinearConv" ? 0 : rank - 1;
  std::int64_t axis = attribute_int(node, "axis", fallback);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return false;
  QuantParams params;
  params.scale.resize(scales);
  params.axis = static_cast<int>(axis);
  params.block = static_cast<int>(attribute_int(node, "block_size", 0));
  if (!scales_fit(params, values->shape())) return false;
  for (std::size_t i = 0; i < static_cast<std::size_t>(values->count()); ++i) {
    if (scale_index(params, values->shape(), i) == scale && !is_zero(*values, i)) return false;
  }
  return true;
}

/// "its scale 's' holds 0 for channel 3 of 8", or "for block 3 of 8" where `node` has blocks.
std::string held_text(const onnx::NodeProto& node, const std::string& scale, const std::vector<float>& values,
                      std::size_t index) {
  std::string text = fmt::format("its scale '{}' holds {:g}", printable(scale), values[index]);
  const char* const part = attribute_int(node, "block_size", 0) > 0 ? "block" : "channel";
  if (values.size() > 1) text += fmt::format(" for {} {} of {}", part, index, values.size());
  return text;
}

constexpr const char* kCalibrateAgain = "calibrate it again: a scale is a positive, finite, normal number";

/// What the constant `input` of `node` is the scale of: `codes`.
std::optional<QdqDefect> bad_scale(const Model& file, const NodeMakers& made_by, const onnx::NodeProto& node,
                                   const std::string& input, const std::string& codes) {
  const auto scale = input.empty() ? std::nullopt : initializer(file, input);
  if (!scale || !is_float_scale(*scale)) return std::nullopt;
  const std::vector<float> values = scales_of(*scale);
  const auto bad = std::ranges::find_if_not(values, is_usable_scale);
  if (bad == values.end()) return std::nullopt;
  const bool stored = node.op_type() != "QuantizeLinear" && !codes.empty() && is_initializer(file, codes);
  if (stored && std::ranges::all_of(values, [](float value) { return is_usable_scale(std::abs(value)); })) {
    const auto negative = std::ranges::count_if(values, [](float value) { return value < 0; });
    return QdqDefect{"negative-scale",
                     node.name(),
                     fmt::format("{} of {} in '{}' are negative: ONNX Runtime computes with them, TensorRT refuses "
                                 "them",
                                 negative, plural(values.size(), "scale"), printable(input)),
                     "flip the sign of the scale, and those of its stored values if they were made for it",
                     false,
                     /*may_be_meant=*/true,
                     /*refused_by_tensorrt=*/true};
  }
  const auto index = static_cast<std::size_t>(bad - values.begin());
  const bool dead = values.size() > 1 && *bad == 0 && is_dead_channel(file, made_by, node, codes, index, values.size());
  std::string text = held_text(node, input, values, index);
  if (*bad > 0 && std::isfinite(*bad)) text += ", a subnormal number, which hardware may take for 0";
  if (dead) text += ", with all weights 0";
  return QdqDefect{"bad-scale", node.name(), std::move(text),
                   dead ? "give it any positive scale, 1 for example: zeros stay exact, and nothing is divided by 0"
                        : kCalibrateAgain,
                   /*refused=*/true};
}

/// Nothing divides by the scales of a MatMulNBits, which may be negative, and 0 for a block of zeros.
std::optional<QdqDefect> bad_scale_of_blocks(const Model& file, const onnx::NodeProto& node) {
  const auto scale = node.input_size() > 2 ? initializer(file, node.input(2)) : std::nullopt;
  if (!scale || !is_float_scale(*scale)) return std::nullopt;
  const std::vector<float> values = scales_of(*scale);
  auto bad = std::ranges::find_if_not(values, [](float value) { return std::isfinite(value); });
  for (auto zero = values.begin(); bad == values.end() && zero != values.end(); ++zero) {
    const auto block = static_cast<std::size_t>(zero - values.begin());
    if (*zero == 0 && !holds_one_code(file, node, block)) bad = zero;
  }
  if (bad == values.end()) return std::nullopt;
  // Scales lie column by column; blocks are counted as those of a DequantizeLinear, row by row.
  const auto index = static_cast<std::size_t>(bad - values.begin());
  const auto columns = static_cast<std::size_t>(std::max<std::int64_t>(attribute_int(node, "N", 1), 1));
  const std::size_t rows = std::max<std::size_t>(values.size() / columns, 1);
  return QdqDefect{"bad-scale", node.name(),
                   fmt::format("its scale '{}' holds {:g} for block {} of {}, in column {}", printable(node.input(2)),
                               *bad, index % rows * columns + index / rows, values.size(), index / rows),
                   "calibrate it again: a scale is a finite number, and 0 only for a block of zeros",
                   /*refused=*/true};
}

/// A Mul takes any factor, a negative one too: one is wrong if it is not finite, or 0 of a channel that holds others.
std::optional<QdqDefect> bad_factor(const Model& file, const NodeMakers& made_by, const onnx::NodeProto& node,
                                    const std::string& input, const std::string& codes) {
  const auto scale = initializer(file, input);
  if (!scale || !is_float_scale(*scale)) return std::nullopt;
  const std::vector<float> values = scales_of(*scale);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool lost =
        values[i] == 0 && (values.size() == 1 || !is_dead_channel(file, made_by, node, codes, i, values.size()));
    if (std::isfinite(values[i]) && !lost) continue;
    return QdqDefect{"bad-scale", node.name(), held_text(node, input, values, i), kCalibrateAgain, /*refused=*/true};
  }
  return std::nullopt;
}

/// A constant factor, with the codes that it scales.
struct Factor {
  std::string scale, codes;
};

/// The constants of a Mul that scales sums of integers, or what a Cast decodes, with the codes that they belong to.
std::vector<Factor> factors_of(const Model& file, const NodeMakers& made_by, const std::set<std::string>& decoded,
                               const onnx::NodeProto& node) {
  const auto maker = [&](const std::string& tensor) {
    const auto found = made_by.find(tensor);
    return found == made_by.end() ? nullptr : found->second;
  };
  const auto cast_of = [&](const std::string& tensor) -> const onnx::NodeProto* {
    const onnx::NodeProto* cast = maker(tensor);
    if (cast != nullptr && (is_onnx(*cast, "Sub") || is_onnx(*cast, "Add"))) cast = maker(cast->input(0));
    return cast != nullptr && is_onnx(*cast, "Cast") ? cast : nullptr;
  };
  std::vector<Factor> found;
  for (const int side : {0, 1}) {
    const onnx::NodeProto* const cast = cast_of(node.input(side));
    if (cast == nullptr) continue;
    const std::string& factor = node.input(1 - side);
    const onnx::NodeProto* const product = maker(cast->input(0));
    const bool sums = product != nullptr && (is_onnx(*product, "MatMulInteger") || is_onnx(*product, "ConvInteger"));
    const bool decodes = is_initializer(file, cast->input(0)) && decoded.contains(cast->output(0));
    if (!sums && !decodes) continue;
    const std::string codes = sums ? product->input(1) : cast->input(0);
    found.push_back({factor, codes});
    const onnx::NodeProto* const scales = sums ? maker(factor) : nullptr;
    if (scales == nullptr || !is_onnx(*scales, "Mul")) continue;
    for (const std::string& input : scales->input()) found.push_back({input, codes});
  }
  return found;
}

}  // namespace

std::vector<int> scale_inputs(const onnx::NodeProto& node) {
  const auto* const row = std::ranges::find(kScaleInputs, node.op_type(), &ScaleInputs::op_type);
  if (row == kScaleInputs.end() ||
      !has(node, Trait::Quantizes | Trait::ComputesOnCodes | Trait::StoresCodes | Trait::Recurrent)) {
    return {};
  }
  std::vector<int> inputs;
  if (node.op_type() == "QLinearConcat") {
    for (int i = 3; i < node.input_size(); i += 3) inputs.push_back(i);
  }
  for (const int input : row->scales) {
    if (input != kNone && input < node.input_size()) inputs.push_back(input);
  }
  return inputs;
}

std::vector<QdqDefect> bad_scales(const Model& file, const NodeMakers& made_by, const std::set<std::string>& decoded,
                                  const onnx::NodeProto& node) {
  std::vector<QdqDefect> found;
  const auto add = [&](std::optional<QdqDefect> defect) {
    if (defect) found.push_back(*std::move(defect));
  };
  if (node.op_type() == "MatMulNBits") {
    add(bad_scale_of_blocks(file, node));
    return found;
  }
  if (is_onnx(node, "Mul") && node.input_size() == 2) {
    for (const Factor& factor : factors_of(file, made_by, decoded, node)) {
      add(bad_factor(file, made_by, node, factor.scale, factor.codes));
    }
    return found;
  }
  if (stands_for_factor(node) || stands_for_casts(node)) {
    add(bad_factor(file, made_by, node, node.input(1), node.input(0)));
    return found;
  }
  const auto* const row = std::ranges::find(kScaleInputs, node.op_type(), &ScaleInputs::op_type);
  for (const int input : scale_inputs(node)) {
    const auto place = static_cast<std::size_t>(std::ranges::find(row->scales, input) - row->scales.begin());
    const int codes = place < row->codes.size() ? row->codes[place] : input - 1;
    add(bad_scale(file, made_by, node, node.input(input), codes == kNone ? std::string() : node.input(codes)));
  }
  return found;
}

}  // namespace vernier
