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
    row<PrecisionOptions>("--fp8", "Try FP8 (E4M3): Q/DQ with calibrated scales").python("low=\"float8e4m3fn\""),
    row<PrecisionOptions>(
        "--int4",
        "Try INT4: weights of Gemm and MatMul in blocks of up to 128 values; layers compute in the high format")
        .python("low=\"int4\""),
    row<PrecisionOptions>("--nvfp4",
                          "Try NVFP4: Gemm and MatMul with constant weights, both sides in blocks of 16 values with "
                          "scales in E4M3; --target tensorrt")
        .python("low=\"nvfp4\""),
    row<PrecisionOptions>("--mxfp8",
                          "Try MXFP8 (E4M3): the same layers in blocks of 32 values with powers of two as scales; "
                          "--target tensorrt")
        .python("low=\"mxfp8\""),
    row<PrecisionOptions>("--int16",
                          "Try INT16 activations over INT8 weights (A16W8): Q/DQ with calibrated scales; --target "
                          "onnxruntime, openvino")
        .python("low=\"int16\""),
    row<PrecisionOptions>("--fp16", "Try FP16: casts").python("low=\"float16\""),
    row<PrecisionOptions>("--bf16", "Try BF16: casts").python("low=\"bfloat16\""),
    row(&PrecisionOptions::low, "--low FORMAT",
        "Low formats by name: float16 bfloat16 float8e4m3fn float8e5m2 int8 uint8 int4 uint4 int16 uint16 nvfp4 mxfp8 "
        "mxfp8e5m2 mxfp4 dynamic-int8. With several, each layer gets the lowest that it supports. Kept layers take the "
        "format of -p. With --ladder, they take the next format")
        .choices("float16 bfloat16 float8e4m3fn float8e5m2 int8 uint8 int4 uint4 int16 uint16 nvfp4 mxfp8 mxfp8e5m2 "
                 "mxfp4 dynamic-int8")
        .by_hand()
        .python("low", "diagnose fix quantize calibrate",
                "the low format, or several: \"int8\", \"float16\", \"bfloat16\", \"float8e4m3fn\", \"int4\", "
                "\"nvfp4\", \"int16\", \"dynamic-int8\", ... Each layer gets the lowest that it supports.")
        .common()
        .typed("", "\"int8\""),
    row(&PrecisionOptions::high, "-p,--precision,--high,--high-precision-dtype FORMAT",
        "Format of kept layers: float32, float16 or bfloat16. --int8 -p float16: INT8, and the rest in FP16 (default: "
        "float32)")
        .choices("float32 float16 bfloat16")
        .python("high", kLowering, "the format of kept layers.")
        .common(),
    row(&PrecisionOptions::layer_precisions, "--layer-precisions NAME:FORMAT",
        "Formats of single layers. Names may be shell wildcards; the last ':' separates; later ones win (default: "
        "none)")
        .python("layer_precisions", kLowering, "formats of single layers by name or shell wildcard."),
    row(&PrecisionOptions::constraints, "--precision-constraints MODE",
        "How strict --layer-precisions is. obey: an error if a layer does not support its format. prefer: otherwise "
        "low precision and a warning; unknown names also warn. none: formats are ignored and listed (default: prefer)"),
    row(&PrecisionOptions::network_scripts,
        "--trt-network-postprocess-script,--trt-npps,--trt-network-func-script FILE[:FUNC]",
        "Python scripts, run in this order: FUNC(network=...) sets layer.precision on a TensorRT network. They win "
        "over --layer-precisions (default: none; FUNC: postprocess)")
        .by_hand(),
    row(&PrecisionOptions::target, "--target TARGET",
        "The engine that the model is for; its rules place low precision. tensorrt: inputs of weighted operators. "
        "openvino: the same, asymmetric with --int8. onnxruntime: with --int8, operators that its integer kernels run "
        "faster on the CPU (default: tensorrt)")
        .unsaid()
        .python("target", "diagnose fix verify run quantize calibrate check_placement",
                "the engine that the model is for: \"tensorrt\", \"onnxruntime\", \"openvino\". Its rules place low "
                "precision.")
        .common(),
    row(&PrecisionOptions::even_if_slower, "--even-if-slower",
        "--target onnxruntime: quantize every operator that has an integer kernel, even if that saves no time")
        .python("even_if_slower", kQuantizing,
                "target \"onnxruntime\": also quantize layers that run no faster in INT8."));

inline constexpr auto kArithmetic = table(
    "Arithmetic", "Precision",
    row(&Arithmetic::accumulate, "--accumulate FORMAT",
        "--target tensorrt: format in which FP16 convolutions accumulate. float16: as measured on TensorRT-RTX, which "
        "rounds every 16 products and before the bias, and uses TF32; the requirement must hold with both (default: "
        "float32)"),
    row(&Arithmetic::tf32, "--tf32",
        "--target tensorrt: simulate TF32, ten bits of mantissa, in Conv, ConvTranspose, Gemm and MatMul in float32"));

inline constexpr auto kCalibrationMethod = table(
    "PrecisionOptions", "Precision",
    row(&PrecisionOptions::calibration, "--calibration-method METHOD",
        "How ranges of activations are chosen: minmax, percentile[:99.99] (99.999 without a number), entropy, mse, "
        "aciq. auto: for each tensor, the method with the least error in the layers that read it (default: minmax)")
        .choices("minmax percentile entropy mse aciq auto")
        .by_hand("minmax")
        .python("calibration", "diagnose fix run quantize calibrate",
                "how ranges are chosen: \"minmax\", \"percentile:99.99\", \"entropy\", \"mse\", \"aciq\", \"auto\"; or "
                "your own ``function(seen)``, which returns (low, high). ``seen`` describes a tensor: ``tensor``, "
                "``format``, ``min``, ``max``, and its histogram as ``low``, ``high``, ``count`` of each bin.")
        .common()
        .typed("Calibration", "\"minmax\""));

/// Which layers may take a format with a scale.
inline constexpr auto kSelection = table(
    "LayerSelection", "Selected layers",
    row(&LayerSelection::op_types, "--op-types-to-quantize OP", "Quantize only these operator types (default: all)")
        .python("op_types", kQuantizing, "operator types to quantize; empty: all."),
    row(&LayerSelection::excluded_op_types, "--op-types-to-exclude OP",
        "Operator types to leave in float (default: none)")
        .python("excluded_op_types", kQuantizing, "operator types to leave in float."),
    row(&LayerSelection::nodes, "--nodes-to-quantize NAME",
        "Quantize only these layers: names, shell wildcards, or /regular expressions/ (default: all)")
        .python("nodes", kQuantizing,
                "layers to quantize: names, shell wildcards or /regular expressions/; empty: all."),
    row(&LayerSelection::excluded_nodes, "--nodes-to-exclude NAME",
        "Layers to leave in float, named in the same ways (default: none)")
        .python("excluded_nodes", kQuantizing, "layers to leave in float.")
        .common(),
    row(&LayerSelection::subgraphs, "--subgraph IN:OUT",
        "Quantize only layers between these tensors. Commas separate names; an empty list means the graph's inputs or "
        "outputs (default: all)"));

/// How weights and activations are quantized.
inline constexpr auto kPerTensor =
    row(&QuantizationRules::weights_per_channel, "--per-tensor",
        "One scale for each weight (default: one for each output channel)")
        .off()
        .python("per_channel", kQuantizing, "one scale for each output channel of a weight.");
inline constexpr auto kReduceRange =
    row(&QuantizationRules::reduce_range, "--reduce-range",
        "Weights in 7 bits, so that x86 CPUs without VNNI do not saturate their products; for --target onnxruntime and "
        "openvino (default: 8 bits)")
        .by_hand()
        .python("reduce_range", kQuantizing,
                "INT8 weights in 7 bits, so that x86 CPUs without VNNI do not saturate their products.");
inline constexpr auto kWeightBits =
    row(&QuantizationRules::weight_bits, "--weight-bits N",
        "--int16: weights in 8 bits (A16W8), or in 4 bits and blocks (A16W4) (default: 8)")
        .from(4, 8)
        .unsaid()
        .python("weight_bits", kQuantizing, "INT16: weights in 8 bits, or in 4 bits and blocks.");
inline constexpr auto kKvCache =
    row(&QuantizationRules::kv_cache, "--kv-cache FORMAT",
        "Format of KV caches: float16, bfloat16, float8e4m3fn or int8. Each cache is a layer of its own that a search "
        "may keep (default: the formats of the layers around it)")
        .choices("float16 bfloat16 float8e4m3fn int8")
        .python("kv_cache", kQuantizing, "format of KV caches: \"float16\", \"bfloat16\", \"float8e4m3fn\", \"int8\".");
inline constexpr auto kResiduals = row<QuantizationRules>(
    "--quantize-residuals",
    "--target tensorrt: also quantize the skip branch of an Add behind a weighted operator. TensorRT then fuses them "
    "into one kernel, at some cost in accuracy (default: it stays float)");
inline constexpr auto kRules = table(
    "QuantizationRules", "How",
    row(&QuantizationRules::weights_only).python("weights_only", kQuantizing, "quantize only weights, in INT8 or FP8."),
    row<QuantizationRules>("--per-channel", "One scale for each output channel of a weight (this is the default)"),
    kPerTensor, kReduceRange, kWeightBits, kKvCache,
    row<QuantizationRules>("--symmetric", "Ranges of activations around zero (default with --target tensorrt)"),
    row<QuantizationRules>("--asymmetric", "Ranges from minimum to maximum (default with --target onnxruntime)"),
    row(&QuantizationRules::block_size, "--block-size N",
        "int4, uint4: values that share a scale, 32, 64 or 128; halved if the weight is not divisible (default: 128)")
        .from(32, 128)
        .unsaid()
        .python("block_size", kQuantizing, "INT4 and UINT4: neighbours that share a scale, 32, 64 or 128."),
    row<QuantizationRules>(
        "--bias TYPE",
        "Type of biases: int32 or float (default: float with --target tensorrt, int32 with --target onnxruntime)")
        .choices("int32 float"),
    row<QuantizationRules>("--dq-only",
                           "Store quantized weights, each with only a DequantizeLinear (this is the default)"),
    row(&QuantizationRules::paired_weights, "--add-qdq-pair-to-weight",
        "Store weights in float32, each followed by a QuantizeLinear and a DequantizeLinear"),
    kResiduals,
    row<QuantizationRules>("--tensor-overrides FILE",
                           "JSON with scale and zero_point, or rmin and rmax, for single tensors (default: none)"));

inline constexpr auto kQuantizeMode =
    row<PrecisionOptions>(
        "--quantize-mode MODE",
        "int8, fp8, int4, int8-weight-only or another of these words, in addition to or instead of the formats below "
        "(default: int8)")
        .choices(
            "int8 fp8 int4 int8-weight-only fp8-weight-only nvfp4-weight-only mxfp8-weight-only uint4 int16 nvfp4 "
            "mxfp8 "
            "mxfp4 dynamic-int8");

}  // namespace vernier::table
