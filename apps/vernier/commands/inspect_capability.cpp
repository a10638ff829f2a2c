#include <memory>
#include <string>
#include <vector>

#include "commands/commands.h"
#include "console/console.h"
#include "options/options.h"
#include "options/parse_values.h"
#include "options/plugins_option.h"
#include "options/rows.h"
#include "table/measure.h"
#include "vernier/capability.h"
#include "vernier/report/capability.h"

namespace vernier::cli {
namespace {

struct CapabilityLine {
  std::string model, target = "tensorrt", output, python = "python3";
  Texts texts;
  std::vector<std::string> plugins;
  bool json = false, partitions = false;
  MessageGroup messages;
};

}  // namespace

Command add_inspect_capability(CLI::App& root) {
  auto line = std::make_shared<CapabilityLine>();
  CLI::App& app = add_command(command_group(root, "inspect", "Print what is in a file"), "capability",
                              "Find the nodes that an engine supports, and split the model accordingly");
  add_argument(app, "MODEL", line->model, "ONNX file");
  add_row(app, table::kExternalDataDir, "Model", line->texts);
  add_value(app, "--target", line->target, "TARGET",
            "tensorrt or openvino: asked directly if --python has the package, otherwise by the published list. "
            "onnxruntime: asked directly (default: tensorrt)")
      .group("Engine");
  add_value(app, "--python", line->python, "PROGRAM", "Python to look for TensorRT or OpenVINO in (default: python3)")
      .group("Engine");
  add_row(app, table::kCustomOps, "Engine", line->texts);
  add_plugins_option(app, line->plugins, "Engine");
  add_flag(app, "--with-partitioning", line->partitions, "Accepted, without effect: parts are always found")
      .group("Engine");
  add_value(app, "-o,--output", line->output, "DIR",
            "Write each part as DIR/supported_N.onnx or DIR/unsupported_N.onnx (default: not written)")
      .writes()
      .group("Output");
  add_flag(app, "--json", line->json, "Print the report as JSON, and nothing else, on stdout").group("Output");
  add_message_options(app, line->messages);
  const IgnoredOptions ignored = add_ignored_options(app);
  add_footer(app,
             "Example: vernier inspect capability model.onnx --target tensorrt -o parts\nExit code: 0 done, supported "
             "or not; 2 usage; 3 input; 4 backend; 70 internal error");

  return {&app, &line->messages,
          [line](Console& console) {
            CapabilityOptions options;
            options.model = line->model;
            read_value(table::kExternalDataDir, line->texts, options.external_data_dir);
            read_value(table::kCustomOps, line->texts, options.custom_operators);
            options.plugins.assign(line->plugins.begin(), line->plugins.end());
            options.target = parse_choice<Target>("--target", line->target);
            options.output = line->output;
            options.python = line->python;
            if (!line->output.empty()) require_writable_folder(line->output);
            const CapabilityReport report = inspect_capability(options, console.sinks());
            print_result(console, line->json ? report_to_json(report) : report_to_text(report, text_options(console)));
            return 0;
          },
          ignored};
}

}  // namespace vernier::cli
