// The subcommands of `vernier debug`.
#include <memory>
#include <string>

#include "commands/commands.h"
#include "console/console.h"
#include "options/gate_group.h"
#include "options/options.h"
#include "options/parse_values.h"
#include "options/runner_options.h"
#include "vernier/debug_accuracy.h"
#include "vernier/report/debug_accuracy.h"
#include "vernier/report/gate.h"
#include "vernier/report/text.h"

namespace vernier::cli {
namespace {

struct AccuracyLine {
  std::string model, golden = "onnxrt", min_sqnr = "20";
  RunnerGroup runner;
  DataGroup data;
  ResultGroup result;
  GateGroup gate;
  MessageGroup messages;
};

}  // namespace

Command add_debug_accuracy(CLI::App& root, const std::string& command) {
  auto line = std::make_shared<AccuracyLine>();
  CLI::App& app =
      add_command(command_group(root, "debug", "Find where a model goes wrong"), "accuracy",
                  "Find the layer at which a run leaves its reference, and the layers that add error after it");
  add_argument(app, "MODEL", line->model, "ONNX file, float or typed");
  line->runner.add(app);
  add_value(app, "--golden", line->golden, "REFERENCE",
            "The reference: onnxrt or sim, a runner of the same model, or a file of saved outputs (default: onnxrt)")
      .group("Reference");
  add_value(app, "--min-sqnr", line->min_sqnr, "DB",
            "Minimum SQNR of a layer's output, 10 log10(signal / noise) over all samples, in dB (default: 20)")
      .group("Reference");
  line->data.add(app, "Samples to run on");
  line->data.add_calibration(app);
  line->result.add(app);
  line->gate.add(app);
  add_message_options(app, line->messages);
  const IgnoredOptions ignored = add_ignored_options(app);
  add_footer(app,
             "Example: vernier debug accuracy model.onnx --sim --int8 --data samples.npz\nExit code: 0 every layer is "
             "within the limit; 1 some are not; 2 usage; 3 input; 4 backend; 70 internal error; 130 interrupted");

  return {&app,
          &line->messages,
          [line, command](Console& console) {
            for (const std::string& text : line->data.without_effect(line->runner.any_script())) console.warning(text);
            DebugAccuracyOptions options;
            options.run.runners = line->runner.values({line->model});
            options.run.measure = line->data.values();
            options.run.providers = line->runner.providers();
            options.run.optimization = line->runner.optimization();
            options.golden = line->golden;
            options.min_sqnr_db = parse_number("--min-sqnr", line->min_sqnr);
            options.command = command;
            const TextOptions text = line->result.values(console);
            line->gate.check();
            const DebugAccuracyReport report = debug_accuracy(options, console.sinks());
            print_result(console, line->result.json ? report_to_json(report) : report_to_text(report, text));
            line->gate.tell(gate_of(report));
            return report.passed ? 0 : 1;
          },
          ignored,
          /*spreads=*/false,
          &line->gate};
}

}  // namespace vernier::cli
