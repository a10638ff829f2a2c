#include "report/text/bundle_text.h"

#include <fmt/format.h>

#include "base/quote.h"
#include "vernier/format.h"

namespace vernier {

std::string bundle_command(const DiagnoseReport& report, bool ranges) {
  std::string command = "vernier diagnose layer.onnx --data layer_inputs.json";
  for (const Format format : report.low) command += fmt::format(" --low {}", format_name(format));
  // What makes the layer's figures what they are beside its formats: the target's scheme, and one scale for a weight.
  if (report.target != Target::TensorRt) command += fmt::format(" --target {}", word_of(report.target));
  if (report.weights_per_tensor) command += " --per-tensor";
  return ranges ? command + " --calibration-cache ranges.json" : command;
}

std::string bundle_readme(const DiagnoseReport& report, bool ranges) {
  const LayerRow& row = report.layers.front();
  std::string text = fmt::format("# {} of {}\n\n", inline_code(row.name), inline_code(report.model_file));
  text += fmt::format(
      "One layer ({}) that loses accuracy in {}, cut out of its network, with its inputs in the network.\n\n",
      inline_code(row.op_type), format_name(row.format));
  text += "| file | is |\n|---|---|\n";
  text += "| layer.onnx | the layer in FP32 |\n| layer_inputs.json | its inputs on each sample |\n";
  text += "| layer_outputs.json | its outputs in FP32 |\n| report.json | its row of the report |\n";
  if (ranges) text += "| ranges.json | its ranges, as calibrated in the diagnosis |\n";
  text += "| versions.json | the versions of all programs used |\n\n";
  text += "To show its error again, run in the folder of these files:\n\n" +
          code_block("sh", bundle_command(report, ranges));
  if (!ranges && needs_scale(row.format)) {
    text += "\nThese inputs calibrate the ranges. The error differs if the diagnosis calibrated on other samples.\n";
  }
  if (!report.command.empty()) text += "\nThe original diagnosis:\n\n" + code_block("sh", report.command);
  return text;
}

}  // namespace vernier
