// TensorRT's published list of ONNX operators: the element types of each one's first input, and its restrictions, as
// far as a file shows them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "model/operator_traits.h"
#include "plan/operators/operators.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

// Element types as bits.
enum Types : unsigned {
  kFp32 = 1,
  kFp16 = 2,
  kBf16 = 4,
  kInt32 = 8,
  kInt64 = 16,
  kBool = 32,
  kInt8 = 64,
  kFp8 = 128,
  kInt4 = 256,
  kUint8 = 512,
  kHalf = kFp32 | kFp16,
  kFloat = kHalf | kBf16,
  kNumber = kFloat | kInt32 | kInt64,
  kAny = kNumber | kBool,
  kUnchecked = 0,  // the list's types are those of another tensor
};

struct TypesRow {
  unsigned types;
  std::string_view names;  // separated by spaces
};

constexpr std::array<TypesRow, 13> kTakenByTypes = {{
    {kFloat,
     "Acos Acosh Asin Asinh Atan Atanh AveragePool BatchNormalization Ceil Celu Clip Conv ConvTranspose Cos Cosh "
     "CumSum "
     "Dropout Einsum Elu Erf Exp Floor Gemm GlobalAveragePool GlobalLpPool GlobalMaxPool GroupNormalization GRU "
     "HardSigmoid HardSwish Hardmax ImageScaler InstanceNormalization IsInf LayerNormalization LeakyRelu Log "
     "LogSoftmax "
     "LRN LSTM LpNormalization LpPool MatMul MaxPool MeanVarianceNormalization ParametricSoftplus PRelu QuantizeLinear "
     "RandomNormalLike RandomUniformLike Reciprocal Resize RMSNormalization RNN RotaryEmbedding Round ScaledTanh Selu "
     "Sigmoid Sin Sinh Softmax Softplus Softsign Sqrt Tan Tanh ThresholdedRelu Upsample"},
    {kHalf, "DeformConv GridSample Mish NonMaxSuppression NonZero RoiAlign"},
    {kFp32, "STFT"},
    {kNumber,
     "Abs Add ArgMax ArgMin DepthToSpace Div Equal Greater GreaterOrEqual IsNaN Less LessOrEqual Max Min Mod Mul Neg "
     "Pad "
     "Pow Range ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum "
     "ReduceSumSquare Relu Scatter ScatterElements ScatterND Shrink Sign SpaceToDepth Sub Sum TopK"},
    {kAny,
     "Concat Expand EyeLike Flatten Gather GatherElements GatherND Identity If Loop OneHot Reshape ReverseSequence "
     "Shape "
     "Size Slice Split Squeeze Tile Transpose Trilu Unsqueeze Where"},
    {kBool, "And Not Or Xor"},
    {kFloat | kInt8 | kFp8, "Attention"},
    {kAny | kUint8, "Cast CastLike"},
    {kInt8 | kFp8 | kInt4, "DequantizeLinear"},
    {kNumber | kInt8, "Gelu"},
    {kNumber | kFp8, "Mean"},
    {kFloat | kInt32, "TensorScatter"},
    {kUnchecked, "BlackmanWindow HammingWindow HannWindow Constant ConstantOfShape RandomNormal RandomUniform Scan"},
}};

unsigned bit_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::Float32:
    case Dtype::Float64:  // cast to float32
      return kFp32;
    case Dtype::Float16:
      return kFp16;
    case Dtype::BFloat16:
      return kBf16;
    case Dtype::Int32:
      return kInt32;
    case Dtype::Int64:
      return kInt64;
    case Dtype::Bool:
      return kBool;
    case Dtype::Int8:
      return kInt8;
    case Dtype::Float8E4M3FN:
      return kFp8;
    case Dtype::Int4:
      return kInt4;
    case Dtype::UInt8:
      return kUint8;
    default:
      return 0;
  }
}

const TypesRow* row_of(std::string_view name) {
  for (const TypesRow& row : kTakenByTypes) {
    std::string_view names = row.names;
    while (!names.empty()) {
      const std::size_t end = std::min(names.find(' '), names.size());
      if (names.substr(0, end) == name) return &row;
      names.remove_prefix(std::min(end + 1, names.size()));
    }
  }
  return nullptr;
}

using Around = NodeSurroundings;
using Node = onnx::NodeProto;
using Why = std::optional<std::string>;

const std::string& input(const Node& node, int index) {
  static const std::string none;
  return index < node.input_size() ? node.input(index) : none;
}

bool has_output(const Node& node, int index) { return index < node.output_size() && !node.output(index).empty(); }

std::string attribute_text(const Node& node, std::string_view name, std::string_view fallback) {
  const onnx::AttributeProto* attribute = find_attribute(node, name);
  return attribute == nullptr ? std::string(fallback) : attribute->s();
}

Why dilated(const Node& node) {
  const std::vector<std::int64_t> dilations = attribute_ints(node, "dilations");
  const bool ones = std::all_of(dilations.begin(), dilations.end(), [](std::int64_t d) { return d == 1; });
  return ones ? Why() : "dilations must be one";
}

Why pooling(const Around& around, const Node& node) {
  const std::size_t spatial = attribute_ints(node, "kernel_shape").size();
  if (node.op_type() != "LpPool" && spatial != 2 && spatial != 3) return "pooling must be in 2 or 3 dimensions";
  if (node.op_type() == "MaxPool" && has_output(node, 1)) return "the output Indices is not supported";
  (void)around;
  return dilated(node);
}

/// The inputs that must be known when an engine is built.
Why built_in(const Around& around, const Node& node, std::initializer_list<int> inputs, std::string_view what) {
  for (const int index : inputs) {
    if (!around.constant(input(node, index))) return fmt::format("{} must be a constant", what);
  }
  return std::nullopt;
}

Why zero_point(const Around& around, const Node& node) {
  const std::string& name = input(node, 2);
  if (name.empty()) {
    const bool unsigned_codes = node.op_type() == "QuantizeLinear" && attribute_int(node, "output_dtype", 0) == 0;
    return unsigned_codes ? Why("without a zero point the type is uint8") : Why();
  }
  if (!around.constant(name)) return "the zero point must be a constant zero";
  if (around.dtype(name) == Dtype::UInt8) return "the type uint8 is not supported";
  const std::optional<Tensor> value = initializer(around.model, name);
  if (!value) return std::nullopt;
  const auto bytes = value->bytes();
  const bool zero = std::all_of(bytes.begin(), bytes.end(), [](std::byte byte) { return byte == std::byte{0}; });
  return zero ? Why() : "the zero point must be zero";
}

Why recurrent(const Node& node) {
  if (node.op_type() == "LSTM") {
    if (attribute_int(node, "input_forget", 0) != 0) return "input_forget must be 0";
    if (attribute_int(node, "layout", 0) != 0) return "layout must be 0";
  }
  if (attribute_text(node, "direction", "forward") != "bidirectional") return std::nullopt;
  const onnx::AttributeProto* activations = find_attribute(node, "activations");
  if (activations == nullptr) return std::nullopt;
  const int half = activations->strings_size() / 2;
  for (int i = 0; i < half; ++i) {
    if (activations->strings(i) != activations->strings(half + i))
      return "both directions must have the same activations";
  }
  return std::nullopt;
}

Why resize(const Around& around, const Node& node) {
  constexpr std::array kTransforms = {"half_pixel", "pytorch_half_pixel", "tf_half_pixel_for_nn", "asymmetric",
                                      "align_corners"};
  constexpr std::array kNearest = {"floor", "ceil", "round_prefer_floor", "round_prefer_ceil"};
  const std::string transform = attribute_text(node, "coordinate_transformation_mode", "half_pixel");
  const std::string mode = attribute_text(node, "mode", "nearest");
  const std::string nearest = attribute_text(node, "nearest_mode", "round_prefer_floor");
  if (around.opset >= 11 && std::find(kTransforms.begin(), kTransforms.end(), transform) == kTransforms.end()) {
    return fmt::format("coordinate_transformation_mode {} is not supported", printable(transform));
  }
  if (mode != "nearest" && mode != "linear") return fmt::format("mode {} is not supported", printable(mode));
  if (mode == "nearest" && std::find(kNearest.begin(), kNearest.end(), nearest) == kNearest.end()) {
    return fmt::format("nearest_mode {} is not supported", printable(nearest));
  }
  if (attribute_text(node, "keep_aspect_ratio_policy", "stretch") != "stretch") {
    return "keep_aspect_ratio_policy must be stretch";
  }
  return attribute_int(node, "antialias", 0) != 0 ? Why("antialiasing is not supported") : Why();
}

Why attention(const Around& around, const Node& node) {
  for (const int index : {0, 1, 2, 3}) {
    const std::optional<Shape> shape = around.shape(input(node, index));
    if (shape && shape->size() != 4) return "Q, K, V and attn_mask must have 4 dimensions";
  }
  if (!input(node, 4).empty() || !input(node, 5).empty() || !input(node, 6).empty()) {
    return "past_key, past_value and nonpad_kv_seqlen are not supported";
  }
  if (has_output(node, 1) || has_output(node, 2) || has_output(node, 3)) return "only the first output is supported";
  const onnx::AttributeProto* softcap = find_attribute(node, "softcap");
  return softcap != nullptr && softcap->f() != 0 ? Why("softcap is not supported") : Why();
}

/// A restriction that the file breaks.
Why broken(const Around& around, const Node& node) {
  const std::string& op = node.op_type();
  if (op == "AveragePool" || op == "MaxPool" || op == "LpPool") return pooling(around, node);
  if (op == "QuantizeLinear" || op == "DequantizeLinear") return zero_point(around, node);
  if (has(node, Trait::Recurrent)) return recurrent(node);
  if (op == "Resize") return resize(around, node);
  if (op == "Attention") return attention(around, node);
  if (op == "CumSum") return built_in(around, node, {1}, "axis");
  if (op == "OneHot") return built_in(around, node, {1}, "depth");
  if (op == "Squeeze" || op == "Unsqueeze") return built_in(around, node, {1}, "axes");
  if (op.starts_with("Reduce")) return built_in(around, node, {1}, "axes");
  if (op == "STFT") return built_in(around, node, {1, 2}, "frame_step and window");
  if (op == "Dropout") return built_in(around, node, {2}, "training_mode");
  if (op == "LayerNormalization" && (has_output(node, 1) || has_output(node, 2)))
    return "only the first output is supported";
  if (op == "ScatterND" && attribute_text(node, "reduction", "none") != "none") return "reduction must be none";
  if (op == "TopK" && attribute_int(node, "sorted", 1) != 1) return "sorted must be 1";
  if (op == "Constant") {
    for (const char* name : {"sparse_value", "value_string", "value_strings"}) {
      if (find_attribute(node, name) != nullptr) return fmt::format("{} is not supported", name);
    }
  }
  if (op == "GridSample") {
    const std::optional<Shape> shape = around.shape(input(node, 0));
    if (shape && shape->size() != 4) return "the input must have 4 dimensions";
  }
  if (op == "EyeLike") {
    const std::optional<Shape> shape = around.shape(input(node, 0));
    if (!shape || std::any_of(shape->begin(), shape->end(), [](auto dim) { return dim < 0; })) {
      return "the input must have a fixed shape";
    }
  }
  return std::nullopt;
}

std::string condition_of(const std::string& op) {
  if (op == "If") return "both branches must give outputs of one rank";
  if (op == "Loop") return "lengths of scan outputs must be fixed, and shapes the same in each turn";
  if (op == "TopK") return "K must be below 3840";
  if (op == "DeformConv") return "1 or 2 spatial dimensions, with equal padding at both ends of each";
  if (op == "Hardmax") return "the dimension of axis must be known when the engine is built";
  if (op == "TensorScatter") return "past_cache and update with 4 dimensions, axis -2";
  if (traits_of(op).any(Trait::Random)) return "the seed is ignored";
  return {};
}

}  // namespace

OperatorVerdict tensorrt_verdict(const NodeSurroundings& around, const onnx::NodeProto& node) {
  if (!of_onnx(node)) {
    return {false, fmt::format("an operator of domain {} needs a plugin", printable(node.domain())), ""};
  }
  const TypesRow* row = row_of(node.op_type());
  if (row == nullptr) return {false, "the list does not have it, or says no", ""};
  const std::optional<Dtype> dtype = node.input_size() > 0 ? around.dtype(node.input(0)) : std::nullopt;
  if (row->types != kUnchecked && dtype && (bit_of(*dtype) & row->types) == 0) {
    return {false, fmt::format("the list does not have it for {}", dtype_name(*dtype)), ""};
  }
  if (Why why = broken(around, node)) return {false, *why, ""};
  return {true, "", condition_of(node.op_type())};
}

}  // namespace vernier
