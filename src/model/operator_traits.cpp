#include "model/operator_traits.h"

#include <onnx/defs/schema.h>

#include <algorithm>
#include <string>
#include <unordered_map>

namespace vernier {
namespace {

using enum Trait;

constexpr std::string_view kMicrosoft = "com.microsoft";
constexpr std::string_view kNhwc = "com.ms.internal.nhwc";  // ONNX Runtime's optimizer writes it

// Sums and comparisons: a factor goes through where every input gets it.
constexpr Traits kSum = Elementwise | Homogeneous;

// Operators of ONNX by subject. The names of other domains are those of ONNX Runtime 1.31 (get_all_operator_schema).
constexpr OperatorRow kRows[] = {
    // Moving values. Of a Dropout that does not train; training is no business of ours.
    {"Compress", Moves},
    {"DepthToSpace", Moves},
    {"Dropout", Moves},
    {"Expand", Moves},
    {"Flatten", Moves},
    {"Gather", Moves},
    {"GatherElements", Moves},
    {"GatherND", Moves},
    {"GatherND", Moves, kMicrosoft},
    {"Identity", Moves | Elementwise | Homogeneous},
    {"Reshape", Moves},
    {"ReverseSequence", Moves},
    {"Slice", Moves},
    {"SpaceToDepth", Moves},
    {"Split", Moves},
    {"Squeeze", Moves},
    {"Tile", Moves},
    {"Transpose", Moves},
    {"Unsqueeze", Moves},
    {"Crop", Moves, {}, /*removed=*/true},
    {"CenterCropPad", Fills},
    {"Pad", Fills},
    {"Pad", Fills, kMicrosoft},
    {"Trilu", Fills},
    {"Trilu", Fills, kMicrosoft},
    {"Concat", Joins},

    // Picking values. Max, Min and Where pick as well, from several inputs that may have several formats: they are
    // layers with a format of their own.
    {"GlobalMaxPool", Selects | ByChannel | Homogeneous},
    {"MaxPool", Selects | ByChannel | Homogeneous},
    {"ReduceMax", Selects},
    {"ReduceMin", Selects},
    {"TopK", Selects | GivesPlaces},
    {"ArgMax", GivesPlaces},
    {"ArgMin", GivesPlaces},
    {"Max", kSum | StaysOnGrid},
    {"Min", kSum | StaysOnGrid},
    {"Where", Elementwise | StaysOnGrid},

    // Element by element.
    {"Add", kSum},
    {"Mean", kSum},
    {"Sub", kSum},
    {"Sum", kSum},
    {"Div", Elementwise | HomogeneousInFirst},
    {"Mul", Elementwise | HomogeneousInFirst},
    {"PRelu", Elementwise | HomogeneousInFirst},
    {"Abs", Elementwise | Homogeneous | StaysOnGrid},
    {"LeakyRelu", Elementwise | Homogeneous},
    {"Neg", Elementwise | Homogeneous | StaysOnGrid},
    {"Relu", Elementwise | Homogeneous | StaysOnGrid | Clips},
    {"Clip", Elementwise | Clips},
    {"HardSigmoid", Elementwise | UnitRange},
    {"Sigmoid", Elementwise | UnitRange},
    {"Acos", Elementwise},
    {"Acosh", Elementwise},
    {"Asin", Elementwise},
    {"Asinh", Elementwise},
    {"Atan", Elementwise},
    {"Atanh", Elementwise},
    {"Ceil", Elementwise},
    {"Celu", Elementwise},
    {"Cos", Elementwise},
    {"Cosh", Elementwise},
    {"Elu", Elementwise},
    {"Erf", Elementwise},
    {"Exp", Elementwise},
    {"Floor", Elementwise},
    {"Gelu", Elementwise},
    {"Gelu", Elementwise, kMicrosoft},
    {"HardSwish", Elementwise},
    {"Log", Elementwise},
    {"Mish", Elementwise},
    {"Pow", Elementwise},
    {"QuickGelu", Elementwise, kMicrosoft},
    {"Reciprocal", Elementwise},
    {"Round", Elementwise},
    {"Selu", Elementwise},
    {"Shrink", Elementwise},
    {"Sign", Elementwise},
    {"Sin", Elementwise},
    {"Sinh", Elementwise},
    {"Softplus", Elementwise},
    {"Softsign", Elementwise},
    {"Sqrt", Elementwise},
    {"Swish", Elementwise},
    {"Tan", Elementwise},
    {"Tanh", Elementwise},
    {"ThresholdedRelu", Elementwise},

    // Channel by channel.
    {"AveragePool", ByChannel | Homogeneous},
    {"GlobalAveragePool", ByChannel | Homogeneous},
    {"GlobalLpPool", ByChannel | Homogeneous},
    {"LpPool", ByChannel | Homogeneous},

    {"Softmax", UnitRange},

    // Products with weights.
    {"Conv", Weighted | Convolves},
    {"ConvTranspose", Weighted | Convolves},
    {"Gemm", Weighted},
    {"MatMul", Weighted},
    {"GRU", Recurrent},
    {"LSTM", Recurrent},
    {"RNN", Recurrent},

    // On codes.
    {"ConvInteger", ComputesOnCodes},
    {"MatMulInteger", ComputesOnCodes},
    {"QLinearConv", ComputesOnCodes},
    {"QLinearMatMul", ComputesOnCodes},
    {"MatMulInteger16", ComputesOnCodes, kMicrosoft},
    {"MatMulIntegerToFloat", ComputesOnCodes, kMicrosoft},
    {"MulInteger", ComputesOnCodes, kMicrosoft},
    {"QAttention", ComputesOnCodes, kMicrosoft},
    {"QGemm", ComputesOnCodes, kMicrosoft},
    {"QLinearAdd", ComputesOnCodes, kMicrosoft},
    {"QLinearAveragePool", ComputesOnCodes, kMicrosoft},
    {"QLinearConcat", ComputesOnCodes, kMicrosoft},
    {"QLinearConv", ComputesOnCodes, kMicrosoft},
    {"QLinearGlobalAveragePool", ComputesOnCodes, kMicrosoft},
    {"QLinearLeakyRelu", ComputesOnCodes, kMicrosoft},
    {"QLinearMul", ComputesOnCodes, kMicrosoft},
    {"QLinearReduceMean", ComputesOnCodes, kMicrosoft},
    {"QLinearSigmoid", ComputesOnCodes, kMicrosoft},
    {"QLinearSoftmax", ComputesOnCodes, kMicrosoft},
    {"QLinearWhere", ComputesOnCodes, kMicrosoft},
    {"ReduceSumInteger", ComputesOnCodes, kMicrosoft},
    {"QLinearAveragePool", ComputesOnCodes, kNhwc},
    {"QLinearConv", ComputesOnCodes, kNhwc},
    {"QLinearConvTranspose", ComputesOnCodes, kNhwc},
    {"DynamicQuantizeLSTM", StoresCodes, kMicrosoft},
    {"DynamicQuantizeMatMul", StoresCodes, kMicrosoft},
    {"GatherBlockQuantized", StoresCodes, kMicrosoft},
    {"MatMulBnb4", StoresCodes, kMicrosoft},
    {"MatMulNBits", StoresCodes, kMicrosoft},

    // Between types.
    {"Cast", ChangesType | NeverLayer},
    {"CastLike", ChangesType | NeverLayer},
    {"DequantizeLinear", ChangesType | NeverLayer | Quantizes},
    {"DequantizeLinear", ChangesType | NeverLayer | Quantizes, kMicrosoft},
    {"DynamicQuantizeLinear", NeverLayer | Quantizes},  // its scale is a result as well
    {"QuantizeLinear", ChangesType | NeverLayer | Quantizes},
    {"QuantizeLinear", ChangesType | NeverLayer | Quantizes, kMicrosoft},
    {"Round", NeverLayer, "vernier"},  // ours: a rounding in a simulated graph (plan/round_node.h)

    // Into sequences and optionals and out of them: these hold tensors as they are.
    {"ConcatFromSequence", NeverLayer},
    {"Optional", NeverLayer},
    {"OptionalGetElement", NeverLayer},
    {"SequenceAt", NeverLayer},
    {"SequenceConstruct", NeverLayer},
    {"SequenceErase", NeverLayer},
    {"SequenceInsert", NeverLayer},
    {"SplitToSequence", NeverLayer},

    // Tensors out of shapes, sizes and nothing.
    {"Constant", NeverLayer},
    {"ConstantOfShape", NeverLayer},
    {"EyeLike", ReadsShape | NeverLayer},
    {"RandomNormalLike", ReadsShape | NeverLayer | Random},
    {"RandomUniformLike", ReadsShape | NeverLayer | Random},
    {"Range", NeverLayer},
    {"Range", NeverLayer, kMicrosoft},
    {"Shape", ReadsShape | NeverLayer},
    {"Size", ReadsShape | NeverLayer},
    {"Bernoulli", Random},
    {"Multinomial", Random},
    {"RandomNormal", NeverLayer | Random},
    {"RandomUniform", NeverLayer | Random},
};

struct Key {
  std::string_view op_type;
  std::string_view domain;
  bool operator==(const Key&) const = default;
};
struct Hash {
  std::size_t operator()(const Key& key) const {
    return std::hash<std::string_view>()(key.op_type) ^ (key.domain.size() << 1U);
  }
};

std::string_view spelled(std::string_view domain) { return domain == "ai.onnx" ? std::string_view() : domain; }

}  // namespace

Traits traits_of(std::string_view op_type, std::string_view domain) {
  static const std::unordered_map<Key, Traits, Hash> kByName = [] {
    std::unordered_map<Key, Traits, Hash> by_name;
    for (const OperatorRow& row : kRows) by_name[{row.op_type, row.domain}] = row.traits;
    return by_name;
  }();
  const auto found = kByName.find(Key{op_type, spelled(domain)});
  return found == kByName.end() ? Traits() : found->second;
}

Traits traits_of(const onnx::NodeProto& node) { return traits_of(node.op_type(), node.domain()); }

bool unknown_to_onnx(const onnx::NodeProto& node) {
  return onnx::OpSchemaRegistry::Schema(node.op_type(), std::string(spelled(node.domain()))) == nullptr;
}

bool is_custom(const onnx::NodeProto& node) {
  return !of_onnx(node) && node.domain() != kMicrosoft &&
         onnx::OpSchemaRegistry::Schema(node.op_type(), node.domain()) == nullptr;
}

bool is_onnx_domain(std::string_view domain) { return spelled(domain).empty(); }

bool of_onnx(const onnx::NodeProto& node) { return is_onnx_domain(node.domain()); }

bool is_onnx(const onnx::NodeProto& node, std::string_view op_type) {
  return of_onnx(node) && node.op_type() == op_type;
}

bool is_onnx(const onnx::NodeProto& node, std::initializer_list<std::string_view> op_types) {
  return of_onnx(node) && std::ranges::find(op_types, node.op_type()) != op_types.end();
}

std::span<const OperatorRow> operator_table() { return kRows; }

}  // namespace vernier
