#include "commands/finding_names.h"

#include <array>

namespace vernier::cli {
namespace {

constexpr std::array kDefects{
    FindingName{"bad-scale",
                "a scale is zero (a filter of zeros), negative, subnormal, infinite or NaN. Operators such as "
                "QLinearConv and MatMulNBits have scales too, and so has a Mul behind a MatMulInteger or a Cast"},
    FindingName{"zero-point-type", "the zero point has another type than the quantized values"},
    FindingName{"parameter-shape", "the zero point has another shape than the scale"},
    FindingName{
        "wrong-axis",
        "the scales do not fit the tensor along their axis, or run along another one than the output channels of "
        "the layer that reads it"},
    FindingName{"wrong-blocks", "the scales of blocks do not fit the tensor"},
    FindingName{"newer-opset", "the operators have the type or attribute only in a later opset"},
    FindingName{"scale-type",
                "a scale has another float type than the quantized tensor, or than a tensor read next to it"},
    FindingName{"invalid-node",
                "ONNX's checker and ONNX Runtime refuse a node. For ONNX Runtime also one name of several nodes "
                "(verify, debug loss and check placement, which start with the checks of check lint)"},
    FindingName{"negative-scale",
                "scales of stored values are negative: ONNX Runtime computes with them, TensorRT refuses them "
                "(--target tensorrt)"},
    FindingName{"refused-run",
                "ONNX Runtime does not run the file, or crashes when it loads it (verify --target onnxruntime "
                "or --on onnxruntime)"},
    FindingName{"clipped-bias",
                "an INT32 bias does not fit: it is more than 2^31 times input scale times weight scale"},
    FindingName{"bias-scale",
                "the scale of an INT32 bias is not input scale times weight scale (verify names it if the values "
                "are wrong for that). If the values are right, verify and debug loss name the pair of the input: "
                "its scale was changed later"},
    FindingName{"other-scale",
                "a DequantizeLinear has another scale or zero point than the QuantizeLinear in front of it"},
    FindingName{"other-values",
                "stored values differ from the float model (verify and debug loss). A bias may differ a little, "
                "as after bias correction, unless it makes most of the error of a layer below 25 dB. Values that "
                "other layers undo, as after a permutation or rotation, are not named"},
    FindingName{"shifted-codes",
                "all stored values of a weight, channel or block are off by the same integer: another zero point. "
                "Or all are off by half a step: truncated, not rounded (verify and debug loss)"},
    FindingName{"weight-scale",
                "stored values are those of the float model times a factor that no other layer undoes: a wrong "
                "scale (verify and debug loss). In QLinearConv and QGemm it is in the bias too, which is not "
                "named"},
    FindingName{"clipped-weight",
                "a weight is cut off where its quantized values end, except in 4 bits, where quantizers clip on "
                "purpose (verify and debug loss)"},
    FindingName{"wrong-codes", "a few stored values are far off, nearly all others are right (verify and debug loss)"},
    FindingName{"other-operator",
                "a layer differs from the float model: an operator, a bias, an attribute or a constant, also of a node "
                "that moves values. A constant or an attribute counts for a layer with a high SQNR, too, if it makes "
                "most of the outputs' error. The layer may also read other tensors, or a pair that replaces a Relu or "
                "Clip may have another range (debug loss, and verify if it explains a file)"},
    FindingName{"lost-pair",
                "the pair of an activation cuts off or rounds away most of it, or loses ten times what a wider range "
                "would. Three times counts too, if other pairs do not lose that and an output gains 2 dB with a "
                "wider range, or 10 dB if it has 40. So does a range 3.5 times as wide as its values, or the scale "
                "of a weight, or of one of its channels, that is 3.5 times too large. Small values that become zero "
                "count if an output has less than 20 dB. An output "
                "shows it. Masks that are cut off count only if they change an output (verify and debug loss)"},
    FindingName{"overflowing-pair",
                "an FP8 pair with saturate=0 reads values beyond its range, which become NaN or infinite (verify "
                "and debug loss)"},
    FindingName{"unused-levels",
                "an activation uses a sixteenth of its levels or less, and has an SQNR below 20 dB (verify and "
                "debug loss)"},
    FindingName{
        "lost-layer",
        "a layer has an SQNR below 15 dB on exact inputs, 5 dB in INT4, 30 dB in float files. The finding names "
        "its worst pair and the reason, or the layer itself if no pair explains the error (verify and debug loss)"},
    FindingName{"not-finite",
                "a layer returns NaN or infinities that the float model does not have, and an output shows them. "
                "In FP16 a mask of -1e9 is -inf, and 0 times it is NaN (verify and debug loss)"},
    FindingName{"missing-quantizer",
                "one input of a layer is quantized and the other is not, so the layer runs in float. That costs "
                "time, not accuracy (a warning of check lint)"},
    FindingName{"short-block",
                "the last block of a weight is shorter than the others. ONNX allows it and ONNX Runtime runs it. "
                "TensorRT wants whole blocks (a warning of check lint, refused in check placement --target "
                "tensorrt)"},
    FindingName{
        "starved-channels",
        "an output has an SQNR below 20 dB, and one scale leaves many channels of a weight few levels. Or it rounds "
        "whole channels of an activation to zero (verify and debug loss)"},
    FindingName{"hidden-part",
                "the one scale of an output fits its large values and hides a part of it, such as the boxes or the "
                "scores of a detector (verify and debug loss)"},
};

constexpr std::array kPlacements{
    FindingName{"zero-point", "TensorRT reads zero points of 0 only (tensorrt)"},
    FindingName{"code-type", "TensorRT reads INT8, INT4, FP8 and FP4 values only (tensorrt)"},
    FindingName{"activation-along-axis",
                "an activation has scales along an axis, where the engine wants one scale (tensorrt, onnxruntime)"},
    FindingName{"weight-axis", "the scales of a weight are not along its output channels (tensorrt)"},
    FindingName{"one-input-in-float",
                "one input of a layer is quantized and another is not, so the layer runs in float (all engines)"},
    FindingName{"pair-in-an-epilogue",
                "a pair stands between a weighted operator and the operators that are fused with it (tensorrt)"},
    FindingName{"skip-branch-in-float",
                "the skip branch of a residual Add has no pair, so the convolution before it writes float "
                "(tensorrt)"},
    FindingName{"unequal-concat", "the inputs of a Concat have different scales (tensorrt)"},
    FindingName{"int8-and-float8", "one network has INT8 and FP8 (tensorrt)"},
    FindingName{"lost-upper-limit", "TensorRT-RTX 1.6.1 returns values above the limit of this Clip (tensorrt)"},
    FindingName{"absent-limit", "TensorRT-RTX 1.6.1 loses values of a Clip that has one limit only (tensorrt)"},
    FindingName{"half-steps",
                "TensorRT-RTX computes this operator in several steps in half precision, which can overflow "
                "(tensorrt)"},
    FindingName{"no-quantizer-behind",
                "the result of a layer is not quantized, but the kernel returns only quantized values "
                "(onnxruntime)"},
    FindingName{"float-bias", "a bias is in float, so the layer stays in float (onnxruntime)"},
    FindingName{"sixteen-bits", "the engine has no kernel for 16-bit quantized values (onnxruntime, openvino)"},
    FindingName{"moved-to-another-grid",
                "an operator that only moves data has different scales before and behind it (onnxruntime)"},
    FindingName{"no-kernel-on-codes", "the engine has no kernel on quantized values for this operator (onnxruntime)"},
    FindingName{"refused-to-run", "ONNX Runtime loads the file and refuses to run it (onnxruntime)"},
    FindingName{"changed-result",
                "ONNX Runtime's default optimizations change the result of the file by far (onnxruntime)"},
    FindingName{"left-in-float",
                "a layer still reads dequantized values in the optimized graph, for an unknown reason "
                "(onnxruntime)"},
    FindingName{"operator-not-listed",
                "the engine's published list does not have this operator on quantized values (tensorrt, openvino)"},
    FindingName{"unequal-intervals", "the inputs of an operator have different scales or zero points (openvino)"},
    FindingName{"signed-behind-concat",
                "CPUs without AMX return the result of this Concat as whole numbers (openvino)"},
    FindingName{"one-bias-for-all", "OpenVINO adds one bias to all channels of this layer (openvino)"},
    FindingName{"scale-behind-product",
                "OpenVINO can get a constant factor behind this product of matrices wrong (openvino)"},
    FindingName{"heads-taken-for-rows",
                "OpenVINO takes the heads of this attention for rows, as there are as many (openvino)"},
    FindingName{"read-otherwise", "OpenVINO reads this operator differently from ONNX (openvino)"},
    FindingName{"refused-by-reader", "OpenVINO refuses to read this operator (openvino)"},
    FindingName{"rounded-at-run-time", "OpenVINO rounds the activations of this layer at run time (openvino)"},
};

}  // namespace

std::span<const FindingName> defect_names() { return kDefects; }
std::span<const FindingName> placement_names() { return kPlacements; }

}  // namespace vernier::cli
