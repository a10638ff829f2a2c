
#include "vernier/debug_loss.h"

#include <memory>

#include "commands/commands.h"
#include "console/console.h"
#include "options/options.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/report/debug_loss.h"
#include "vernier/report/text.h"

namespace vernier::cli {
namespace {

struct LossLine {
  std::string float_model, quantized_model;
  bool csv = false;
  DataGroup data;
  ResultGroup result;
  MessageGroup messages;
};

}  // namespace

Command add_debug_loss(CLI::App& root, const std::string& command) {
  auto line = std::make_shared<LossLine>();
  CLI::App& app = add_command(command_group(root, "debug", "Find where a model goes wrong"), "loss",
                              "Measure the error of each Q/DQ pair in a quantized model, and find wrong pairs");
  add_argument(app, "FLOAT", line->float_model, "ONNX file, float: the reference");
  add_argument(app, "QUANTIZED", line->quantized_model, "ONNX file with Q/DQ pairs, from any tool");
  line->data.add(app, "Samples to measure on");
  line->result.add(app);
  add_flag(app, "--csv", line->csv, "Print both tables as CSV, and nothing else, on stdout").group("Output");
  add_message_options(app, line->messages);
  const IgnoredOptions ignored = add_ignored_options(app);
  add_footer(app,
             "Example: vernier debug loss model.onnx quantized.onnx --data samples.npz\nExit code: 0 done; 1 a Q/DQ "
             "pair is wrong; 2 usage; 3 input; 4 backend; 70 internal error; 130 interrupted");

  return {&app, &line->messages,
          [line, command](Console& console) {
            if (line->csv && line->result.json) {
              throw Error(ErrorCode::Contradiction, "--csv and --json: choose one", "leave out one of them");
            }
            for (const std::string& text : line->data.without_effect()) console.warning(text);
            DebugLossOptions options;
            options.float_model = line->float_model;
            options.quantized_model = line->quantized_model;
            options.measure = line->data.values();
            options.command = command;
            const TextOptions text = line->result.values(console);
            const DebugLossReport report = debug_loss(options, console.sinks());
            print_result(console, line->csv           ? report_to_csv(report)
                                  : line->result.json ? report_to_json(report)
                                                      : report_to_text(report, text));
            return report.defects.empty() ? 0 : 1;
          },
          ignored,
          /*spreads=*/true};
}

}  // namespace vernier::cli
