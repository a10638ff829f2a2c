#include <memory>
#include <string>

#include "base/file.h"
#include "commands/commands.h"
#include "console/console.h"
#include "options/gate_group.h"
#include "options/options.h"
#include "vernier/lint.h"
#include "vernier/report/gate.h"
#include "vernier/report/lint.h"

namespace vernier::cli {
namespace {

struct LintLine {
  std::string model, output;
  DataGroup data;
  bool json = false;
  GateGroup gate;
  MessageGroup messages;
};

}  // namespace

Command add_check_lint(CLI::App& root) {
  auto line = std::make_shared<LintLine>();
  CLI::App& app = add_command(command_group(root, "check", "Check models, data and saved results"), "lint",
                              "Find all defects of a model file in one run");
  add_argument(app, "MODEL", line->model, "ONNX file");
  line->data.add(app, "Samples to run the model on");
  add_value(app, "-o,--output", line->output, "FILE", "Also write the report as JSON (default: not written)")
      .writes()
      .group("Output");
  add_flag(app, "--json", line->json, "Print the report as JSON, and nothing else, on stdout").group("Output");
  line->gate.add(app);
  add_message_options(app, line->messages);
  const IgnoredOptions ignored = add_ignored_options(app);
  add_footer(app,
             "Example: vernier check lint model.onnx -o report.json\nExit code: 0 no errors; 1 errors; 2 usage; 3 "
             "input; 4 backend; 70 internal error");
  return {&app,
          &line->messages,
          [line](Console& console) {
            LintOptions options;
            options.model = line->model;
            options.measure = line->data.values();
            if (!line->output.empty()) require_writable_file(line->output);
            line->gate.check();
            const LintReport report = lint(options, console.sinks());
            if (!line->output.empty()) replace_file(line->output, report_to_json(report));
            print_result(console, line->json ? report_to_json(report) : report_to_text(report, text_options(console)));
            line->gate.tell(gate_of(report, options.model.name()));
            return report.passed ? 0 : 1;
          },
          ignored,
          /*spreads=*/false,
          &line->gate};
}

}  // namespace vernier::cli
