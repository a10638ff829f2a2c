// In which formats layers run, and how the target computes.
#pragma once

#include "table/jobs.h"
#include "table/row.h"
#include "vernier/arithmetic.h"
#include "vernier/precision.h"
#include "vernier/quantization.h"

namespace vernier::table {

inline constexpr auto kPrecision = table(
    "PrecisionOptions", "Precision",
    row<PrecisionOptions>("--int8", "Try INT8: Q/DQ with calibrated scales").python("low=\"int8\""),
    row<PrecisionOptions>("--fp8", "Try FP8 (E4M3): Q/DQ with calibrated scales, as engines run it")
        .python("low=\"float8e4m3fn\""),
    row<PrecisionOptions>(
        "--int4", "Try INT4: weights of Gemm and MatMul in blocks of up to 128 values, computed in the high format")
        .python("low=\"int4\""),
    row<PrecisionOptions>("--fp16", "Try FP16: casts").python("low=\"float16\""),
    row<PrecisionOptions>("--bf16", "Try BF16: casts").python("low=\"bfloat16\""),
    row(&PrecisionOptions::low, "--low FORMAT",
        "Low formats by name: float16 bfloat16 float8e4m3fn float8e5m2 int8 uint8 int4. Several low formats may be "
        "given: each layer takes the lowest it can")
        .choices("float16 bfloat16 float8e4m3fn float8e5m2 int8 uint8 int4")
        .by_hand()
        .python("low", "diagnose fix quantize calibrate",
                "the format that is tried, or several: \"int8\", \"float16\", \"bfloat16\", \"float8e4m3fn\", "
                "\"int4\", ...; the lowest that a layer can take wins.")
        .typed("", "\"int8\""),
    row(&PrecisionOptions::high, "-p,--precision,--high,--high-precision-dtype FORMAT",
        "What layers fall back to: float32, float16 or bfloat16 (default: float32)")
        .choices("float32 float16 bfloat16")
        .python("high", kLowering, "the format of kept layers."),
    row(&PrecisionOptions::layer_precisions, "--layer-precisions NAME:FORMAT",
        "Formats of single layers. Shell wildcards; the last ':' separates; later ones win (default: none)")
        .python("layer_precisions", kLowering, "formats of single layers by name; shell wildcards are allowed."),
    row(&PrecisionOptions::constraints, "--precision-constraints MODE",
        "What --layer-precisions means. obey: exactly these, or an error. prefer: where possible, else low with a "
        "warning, names that no layer has too. none: ignored, and listed (default: prefer)"),
    row(&PrecisionOptions::network_scripts,
        "--trt-network-postprocess-script,--trt-npps,--trt-network-func-script FILE[:FUNC]",
        "Python scripts whose FUNC(network=...) sets layer.precision on a TensorRT network, in this order: what they "
        "set wins over --layer-precisions (default: none; FUNC: postprocess)")
        .by_hand(),
    row(&PrecisionOptions::target, "--target TARGET",
        "Whose rules place low precision. tensorrt: inputs of weighted operators. openvino: the same, with --int8 in "
        "asymmetric codes. onnxruntime: with --int8, inputs and outputs of operators where its integer kernels save "
        "time on the CPU (default: tensorrt)")
        .unsaid()
        .python("target", "diagnose fix verify run quantize calibrate check_placement",
                "whose rules place low precision: \"tensorrt\", \"onnxruntime\", \"openvino\"."),
    row(&PrecisionOptions::even_if_slower, "--even-if-slower",
        "--target onnxruntime: quantize every operator that has an integer kernel, also where that gains no time")
        .python("even_if_slower", kQuantizing,
                "target \"onnxruntime\": also layers that its kernels run no faster in int8."));

inline constexpr auto kArithmetic =
    table("Arithmetic", "Precision",
          row(&Arithmetic::accumulate, "--accumulate FORMAT",
              "--target tensorrt: what FP16 convolutions keep their sums in. float16: as TensorRT-RTX was measured to, "
              "rounded every 16 products, in FP16 and BF16 also before the bias is added, and with --tf32; what is "
              "required must hold with both (default: float32)"),
          row(&Arithmetic::tf32, "--tf32",
              "--target tensorrt: Conv, ConvTranspose, Gemm and MatMul in float32 read ten bits of mantissa"));

inline constexpr auto kCalibrationMethod = table(
    "PrecisionOptions", "Precision",
    row(&PrecisionOptions::calibration, "--calibration-method METHOD",
        "How ranges of activations are chosen: minmax, percentile[:99.99] (99.999 without a number), entropy, mse, "
        "aciq; auto: for each tensor the one of these with the least error of the layers that read it (default: "
        "minmax)")
        .choices("minmax percentile entropy mse aciq auto")
        .by_hand("minmax")
        .python(
            "calibration", "diagnose fix run quantize calibrate",
            "how ranges are chosen: \"minmax\", \"percentile:99.99\", \"entropy\", \"mse\", \"aciq\", \"auto\"; or a "
            "function of yours: ``function(seen)`` gives (low, high) of a tensor, of which ``seen`` has ``tensor``, "
            "``format``, ``min``, ``max``, and ``low``, ``high``, ``count`` of the bins that hold its values.")
        .typed("Calibration", "\"minmax\""));

/// Which layers may take a format with a scale.
inline constexpr auto kSelection =
    table("LayerSelection", "Which layers",
          row(&LayerSelection::op_types, "--op-types-to-quantize OP", "Only these operators (default: all)")
              .python("op_types", kQuantizing, "operators whose layers may take a format with a scale; empty: all."),
          row(&LayerSelection::excluded_op_types, "--op-types-to-exclude OP", "Not these operators (default: none)")
              .python("excluded_op_types", kQuantizing, "operators whose layers may not."),
          row(&LayerSelection::nodes, "--nodes-to-quantize NAME",
              "Only these layers: names, shell wildcards, or regular expressions between slashes (default: all)")
              .python("nodes", kQuantizing, "names of layers that may, with shell wildcards or /regular expressions/."),
          row(&LayerSelection::excluded_nodes, "--nodes-to-exclude NAME", "Not these layers (default: none)")
              .python("excluded_nodes", kQuantizing, "names of layers that may not."),
          row(&LayerSelection::subgraphs, "--subgraph IN:OUT",
              "Only layers between these tensors, each list with commas; an empty one stands for those of the graph "
              "(default: all)"));

/// How weights and activations are quantized.
inline constexpr auto kPerTensor =
    row(&QuantizationRules::weights_per_channel, "--per-tensor",
        "One scale for each weight (default: one for each output channel)")
        .off()
        .python("per_channel", kQuantizing, "a scale for each output channel of a weight.");
inline constexpr auto kReduceRange =
    row(&QuantizationRules::reduce_range, "--reduce-range",
        "Weights in 7 bits, whose products no x86 CPU without VNNI saturates; --target onnxruntime, openvino (default: "
        "8 bits)")
        .by_hand()
        .python("reduce_range", kQuantizing,
                "int8 weights in 7 bits, whose products no x86 CPU without VNNI saturates.");
inline constexpr auto kResiduals =
    row<QuantizationRules>("--quantize-residuals",
                           "--target tensorrt: quantize the skip branch of an Add behind a weighted operator too, so "
                           "that both and the quantizer behind become one kernel; costs accuracy (default: it stays "
                           "float)");
inline constexpr auto kRules = table(
    "QuantizationRules", "How",
    row(&QuantizationRules::weights_only).python("weights_only", kQuantizing, "int8 and float8 store weights alone."),
    row<QuantizationRules>("--per-channel", "A scale for each output channel of a weight (this is the default)"),
    kPerTensor, kReduceRange,
    row<QuantizationRules>("--symmetric", "Ranges of activations around zero (default with --target tensorrt)"),
    row<QuantizationRules>("--asymmetric", "Ranges from minimum to maximum (default with --target onnxruntime)"),
    row(&QuantizationRules::block_size, "--block-size N",
        "int4: values that share a scale, 32, 64 or 128; halved where it does not divide (default: 128)")
        .from(32, 128)
        .unsaid()
        .python("block_size", kQuantizing, "int4: neighbours that share a scale, 32, 64 or 128."),
    row<QuantizationRules>("--bias TYPE",
                           "int32 or float (default: float with --target tensorrt, int32 with --target onnxruntime)")
        .choices("int32 float"),
    row<QuantizationRules>("--dq-only", "Weights as codes with a DequantizeLinear alone (this is the default)"),
    row(&QuantizationRules::paired_weights, "--add-qdq-pair-to-weight",
        "Weights stay float32 with a QuantizeLinear and a DequantizeLinear behind"),
    kResiduals,
    row<QuantizationRules>("--tensor-overrides FILE",
                           "JSON with scale and zero_point, or rmin and rmax, of single tensors (default: none)"));

inline constexpr auto kQuantizeMode =
    row<PrecisionOptions>("--quantize-mode MODE",
                          "int8, fp8, int4 or int8-weight-only, beside or instead of the formats below (default: int8)")
        .choices("int8 fp8 int4 int8-weight-only");

}  // namespace vernier::table
