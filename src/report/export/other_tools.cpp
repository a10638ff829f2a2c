#include "report/export/other_tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "base/quote.h"
#include "vernier/format.h"
#include "vernier/report/figures.h"

namespace vernier {
namespace {

bool is_integer8(Format format) { return format == Format::Int8 || format == Format::UInt8; }

/// ModelOpt's ONNX quantizer has a mode for it.
bool modelopt_has(Format format) {
  return !needs_scale(format) || is_integer8(format) || format == Format::Float8E4M3FN || format == Format::Int4;
}

/// Looks like a name that was made up for a node without one (`Conv_12`) or with another's (`conv#2`): no other tool
/// can find that.
bool maybe_made_up(const DiagnoseReport& report, const std::string& name) {
  const auto digits = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  const std::size_t hash = name.rfind('#');
  if (hash != std::string::npos && digits(std::string_view(name).substr(hash + 1))) return true;
  return std::any_of(report.layers.begin(), report.layers.end(), [&](const LayerRow& row) {
    return row.name == name && name.starts_with(row.op_type + "_") &&
           digits(std::string_view(name).substr(row.op_type.size() + 1));
  });
}

/// " \" and one quoted pattern a line.
std::string excluded_patterns(const std::vector<std::string>& kept) {
  if (kept.empty()) return {};
  std::string text = " \\\n  --nodes_to_exclude";
  for (const std::string& name : kept) text += " \\\n    " + shell_quote(exact_regex(name));
  return text;
}

std::string python_list(const std::string& argument, const std::vector<std::string>& kept) {
  if (kept.empty()) return {};
  std::string text = "    " + argument + "=[\n";
  for (const std::string& name : kept) text += "        " + python_quote(name) + ",\n";
  return text + "    ],\n";
}

std::string modelopt(const DiagnoseReport& report, Format low, const std::vector<std::string>& kept) {
  const std::string original = shell_quote(report.model_file);
  const char* high = report.high == Format::Float16 ? "fp16" : report.high == Format::BFloat16 ? "bf16" : "fp32";
  std::string command;
  if (low == Format::Float16 || low == Format::BFloat16) {
    command = fmt::format(
        "python -m modelopt.onnx.autocast --onnx_path={} \\\n"
        "  --low_precision_type={} --keep_io_types --calibration_data=calibration.npz \\\n"
        "  --output_path=modelopt.onnx",
        original, low == Format::Float16 ? "fp16" : "bf16");
  } else {
    command = fmt::format(
        "python -m modelopt.onnx.quantization --onnx_path={} \\\n"
        "  --quantize_mode={} --calibration_method={} --calibration_data_path=calibration.npz \\\n"
        "  --high_precision_dtype={} --output_path=modelopt.onnx",
        original,
        is_integer8(low)      ? "int8"
        : low == Format::Int4 ? "int4"
                              : "fp8",
        low == Format::Int4 ? "rtn_dq" : "max", high);
  }
  return fmt::format("ModelOpt, {} (documented, not run). Its names are regular expressions, hence the anchors:\n\n",
                     format_title(low)) +
         code_block("sh", command + excluded_patterns(kept));
}

std::string ort_quantizer(const DiagnoseReport& report, const std::vector<std::string>& kept) {
  const bool asymmetric = report.target != Target::TensorRt;
  const bool inputs_only = report.target != Target::OnnxRuntime;
  return "ONNX Runtime's quantizer (documented, not run). `reader` is your `CalibrationDataReader`. An excluded Conv, "
         "ConvTranspose or Gemm between quantized tensors stays float only in sessions made with "
         "`disabled_optimizers=[\"WeightBiasQuantization\"]`:\n\n" +
         code_block(
             "python",
             fmt::format(
                 "from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType, quantize_static\n\n"
                 "quantize_static(\n"
                 "    {},\n"
                 "    \"quantized.onnx\",\n"
                 "    reader,\n"
                 "    quant_format=QuantFormat.QDQ,\n"
                 "    calibrate_method=CalibrationMethod.MinMax,\n"
                 "    per_channel={},\n"
                 "    activation_type=QuantType.{},\n"
                 "    weight_type=QuantType.QInt8,\n"
                 "{}{})",
                 python_quote(report.model_file), report.weights_per_tensor ? "False" : "True",
                 asymmetric ? "QUInt8" : "QInt8",
                 inputs_only
                     ? fmt::format("    op_types_to_quantize=[\"Conv\", \"ConvTranspose\", \"Gemm\", \"MatMul\"],\n"
                                   "    extra_options={{\n"
                                   "        \"ActivationSymmetric\": {},\n"
                                   "        \"QuantizeBias\": False,\n"
                                   "        \"OpTypesToExcludeOutputQuantization\": [\"Conv\", "
                                   "\"ConvTranspose\", \"Gemm\", \"MatMul\"],\n"
                                   "    }},\n",
                                   asymmetric ? "False" : "True")
                     : std::string(),
                 python_list("nodes_to_exclude", kept)));
}

std::string nncf_quantizer(const DiagnoseReport& report, const std::vector<std::string>& kept) {
  const std::string ignored =
      kept.empty() ? std::string() : fmt::format("ignored = nncf.IgnoredScope(\n{})\n", python_list("names", kept));
  return "NNCF, for OpenVINO (documented, not run). `samples` yields dictionaries of arrays by input name:\n\n" +
         code_block("python", fmt::format("import nncf\n"
                                          "import onnx\n\n"
                                          "{}"
                                          "model = nncf.quantize(onnx.load({}), nncf.Dataset(samples){})\n"
                                          "onnx.save(model, \"nncf.onnx\")",
                                          ignored, python_quote(report.model_file),
                                          kept.empty() ? "" : ", ignored_scope=ignored"));
}

std::string float16_converter(const DiagnoseReport& report, const std::vector<std::string>& kept) {
  return "ONNX Runtime's FP16 converter (documented, not run):\n\n" +
         code_block("python", fmt::format("import onnx\n"
                                          "from onnxruntime.transformers.float16 import convert_float_to_float16\n\n"
                                          "model = convert_float_to_float16(\n"
                                          "    onnx.load({}),\n"
                                          "    keep_io_types=True,\n"
                                          "{})\n"
                                          "onnx.save(model, \"float16.onnx\")",
                                          python_quote(report.model_file), python_list("node_block_list", kept)));
}

}  // namespace

std::string other_quantizers(const DiagnoseReport& report, const std::vector<std::string>& kept) {
  std::string text =
      "## The same layers excluded in another quantizer\n\nAnother tool chooses its own ranges and its own places for "
      "Q/DQ, so measure its result again: `vernier verify ORIGINAL RESULT --data SOURCE` does that for any typed "
      "model.\n\n";
  const bool made_up =
      std::any_of(kept.begin(), kept.end(), [&](const std::string& name) { return maybe_made_up(report, name); });
  if (made_up) {
    text +=
        "Vernier calls nodes without a name `<Op>_<index>`, and a repeated name gets `#2`. Other tools know these "
        "names only if the file itself has them. If your file has such nodes (and no subgraphs), this program names "
        "them:\n\n" +
        code_block("python", fmt::format("import onnx\n\n"
                                         "model = onnx.load({})\n"
                                         "for index, node in enumerate(model.graph.node):\n"
                                         "    node.name = node.name or f\"{{node.op_type}}_{{index}}\"\n"
                                         "onnx.save(model, \"named.onnx\")",
                                         python_quote(report.model_file))) +
        "\n";
  }
  bool first = true;
  const auto add = [&](const std::string& part) {
    text += (first ? "" : "\n") + part;
    first = false;
  };
  for (const Format low : report.low) {
    if (low == Format::Float32) continue;
    if (modelopt_has(low)) add(modelopt(report, low, kept));
    if (is_integer8(low)) add(ort_quantizer(report, kept));
    if (is_integer8(low)) add(nncf_quantizer(report, kept));
    if (low == Format::Float16) add(float16_converter(report, kept));
  }
  return text;
}

}  // namespace vernier
