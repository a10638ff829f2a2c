#include "plan/target.h"

#include <algorithm>
#include <array>

#include "base/format_definition.h"

namespace vernier {
namespace {

using enum ResultGrid;

// TensorRT and OpenVINO, and every format that ONNX Runtime has no integer kernel for: weighted operators, inputs only.
constexpr std::array kWeightedInputs = {ScaledOperator{"Conv", Float}, ScaledOperator{"ConvTranspose", Float},
                                        ScaledOperator{"Gemm", Float}, ScaledOperator{"MatMul", Float}};

// ONNX Runtime's CPU provider: what it fuses with the DequantizeLinear in front and the QuantizeLinear behind into one
// integer kernel (checked with 1.31: tests/diff/test_integer_kernels.py). Steps of 1/256 are those of its own
// quantizer.
constexpr std::array kIntegerKernels = {ScaledOperator{"Conv", Calibrated},
                                        ScaledOperator{"Gemm", Either},
                                        ScaledOperator{"MatMul", Either},
                                        ScaledOperator{"Add", Calibrated},
                                        ScaledOperator{"Mul", Calibrated},
                                        ScaledOperator{"AveragePool", Calibrated},
                                        ScaledOperator{"GlobalAveragePool", Calibrated},
                                        ScaledOperator{"LeakyRelu", Calibrated},
                                        ScaledOperator{"Sigmoid", Unit},
                                        ScaledOperator{"Softmax", Unit},
                                        ScaledOperator{"Where", Calibrated}};

// Its optimizer WeightBiasQuantization, per tensor (measured: MobileNetV2, 13 layers kept: 24.2 dB became 22.6).
constexpr std::array<std::string_view, 3> kRequantized = {"Conv", "ConvTranspose", "Gemm"};

// Weights in blocks: engines have kernels for products of matrices alone (TensorRT's weight-only GEMM, ONNX
// Runtime's MatMulNBits).
constexpr std::array kMatrixProducts = {ScaledOperator{"Gemm", Float}, ScaledOperator{"MatMul", Float}};

constexpr std::string_view kNoBFloat16 = "TensorRT's parser takes no bfloat16 for it (compiled, TensorRT-RTX 1.7.1)";

constexpr std::string_view kLengthsInHalf =
    "TensorRT's parser mixes types within a recurrent layer with sequence_lens in half precision (compiled, "
    "TensorRT-RTX 1.7.1)";

/// What TensorRT refuses in half precision.
struct RefusedFloat {
  std::string_view op_type;
  bool bfloat16_alone;
  int with_input;  // only nodes that have this input
  std::string_view why;
};

constexpr std::array kRefusedFloats = {
    RefusedFloat{"GridSample", false, 0,
                 "TensorRT takes data and grid of one type, and float16 is too coarse for places (compiled, "
                 "TensorRT-RTX 1.7.1)"},
    RefusedFloat{"GRU", false, 4, kLengthsInHalf},
    RefusedFloat{"LSTM", false, 4, kLengthsInHalf},
    RefusedFloat{"RNN", false, 4, kLengthsInHalf},
    RefusedFloat{"LSTM", false, 7,
                 "TensorRT's parser mixes types within an LSTM with peepholes in half precision "
                 "(compiled, TensorRT-RTX 1.7.1)"},
    RefusedFloat{"TensorScatter", false, 0,
                 "TensorRT takes a cache only as the network gets it, without a Cast (compiled, TensorRT-RTX 1.7.1)"},
    RefusedFloat{"ConvTranspose", true, 0,
                 "TensorRT has no transposed convolution in bfloat16 (compiled, TensorRT-RTX 1.7.1)"},
    RefusedFloat{"GRU", true, 0,
                 "TensorRT's parser mixes types within a GRU in bfloat16 (compiled, TensorRT-RTX 1.7.1)"},
    RefusedFloat{"HardSwish", true, 0, kNoBFloat16},
    RefusedFloat{"Mish", true, 0, kNoBFloat16}};

/// Operators that TensorRT spells out, each step rounded to the type of the operator
/// (bench/hardware/extreme_values.py).
struct InSteps {
  std::string_view op_type;
  std::string_view why;
};

constexpr std::string_view kSquares =
    "TensorRT rounds the powers inside to half precision, which ends at 65504 (run, TensorRT-RTX 1.6.1)";

constexpr std::array kInSteps = {
    InSteps{
        "LogSoftmax",
        "TensorRT takes the logarithm of a Softmax in half precision: -inf where that is 0 (run, TensorRT-RTX 1.6.1)"},
    InSteps{"ReduceLogSumExp",
            "TensorRT adds exponentials in half precision: infinite from 11.1 on (run, TensorRT-RTX 1.6.1)"},
    InSteps{"LpNormalization", kSquares}, InSteps{"LpPool", kSquares}, InSteps{"GlobalLpPool", kSquares}};

// Where the weights are constants alone. TensorRT: MatMul and Gemm between TRT_FP4DynamicQuantize or
// TRT_MXFP8DynamicQuantize and a DequantizeLinear (compiled, TensorRT-RTX 1.7.1).
constexpr std::string_view kNoBlocks = "only TensorRT quantizes activations in blocks";
constexpr std::string_view kNoWideCodes = "TensorRT has no integers of 16 bits (compiled, TensorRT-RTX 1.7.1)";
constexpr std::string_view kNoRunTimeScales = "only ONNX Runtime quantizes activations to int8 at run time";

constexpr ScaledScheme kInputsOnly{.operators = kWeightedInputs};
constexpr ScaledScheme kWeightsOnly{.operators = kWeightedInputs, .weights_only = true};
constexpr ScaledScheme kWeightBlocks{.operators = kMatrixProducts,
                                     .weights_only = true,
                                     .absent = "engines take weights in blocks in products of matrices alone"};
constexpr ScaledScheme kProductsOfConstants{.operators = kMatrixProducts, .constant_weights = true};
constexpr ScaledScheme kBlocksElsewhere{.operators = {}, .absent = kNoBlocks};
constexpr ScaledScheme kWideElsewhere{.operators = {}, .absent = kNoWideCodes};
constexpr ScaledScheme kRunTimeElsewhere{.operators = {}, .absent = kNoRunTimeScales};
constexpr ScaledScheme kOnnxRuntime{.operators = kIntegerKernels,
                                    .integer_kernels = true,
                                    .weights_off_zero = true,
                                    .absent = "ONNX Runtime's CPU provider has no integer kernel for it",
                                    .requantized = kRequantized};

}  // namespace

const ScaledOperator* ScaledScheme::find(std::string_view op_type) const {
  const auto found = std::ranges::find(operators, op_type, &ScaledOperator::op_type);
  return found == operators.end() ? nullptr : &*found;
}

const ScaledScheme& scaled_scheme(Target target, Format format, bool weights_only) {
  const FormatDefinition& definition = definition_of(format);
  const bool blocks = definition.block > 0;
  if (definition.weights_alone || (weights_only && blocks)) return kWeightBlocks;
  if (weights_only) return kWeightsOnly;
  if (blocks) return target == Target::TensorRt ? kProductsOfConstants : kBlocksElsewhere;
  if (definition.dynamic) return target == Target::OnnxRuntime ? kProductsOfConstants : kRunTimeElsewhere;
  if (definition.bits == 16 && target == Target::TensorRt) return kWideElsewhere;
  return target == Target::OnnxRuntime && format == Format::UInt8 ? kOnnxRuntime : kInputsOnly;
}

std::string_view no_float_kernel(Target target, Format format, const onnx::NodeProto& node, std::string_view holder) {
  if (target != Target::TensorRt || (format != Format::Float16 && format != Format::BFloat16)) return {};
  if (holder == "Scan") return "TensorRT's compiler fails on casts within a Scan (compiled, TensorRT-RTX 1.7.1)";
  for (const RefusedFloat& row : kRefusedFloats) {
    if (node.op_type() != row.op_type || (row.bfloat16_alone && format != Format::BFloat16)) continue;
    if (row.with_input < node.input_size() && !node.input(row.with_input).empty()) return row.why;
  }
  return steps_in_half(node);
}

std::string_view steps_in_half(const onnx::NodeProto& node) {
  const auto found = std::ranges::find(kInSteps, node.op_type(), &InSteps::op_type);
  return found == kInSteps.end() ? std::string_view() : found->why;
}

Format under_target(Format format, Target target, bool weights_only) {
  const bool asymmetric = target == Target::OnnxRuntime || target == Target::OpenVino;
  if (!asymmetric || weights_only) return format;
  return format == Format::Int8 ? Format::UInt8 : format == Format::Int16 ? Format::UInt16 : format;
}

std::string operators_text(const ScaledScheme& scheme) {
  std::string text;
  for (const ScaledOperator& row : scheme.operators) {
    if (!text.empty()) text += ", ";
    text += row.op_type;
  }
  return text;
}

}  // namespace vernier
