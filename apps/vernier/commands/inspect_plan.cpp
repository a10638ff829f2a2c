#include <memory>
#include <string>

#include "commands/commands.h"
#include "console/console.h"
#include "options/options.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/report/scheme.h"
#include "vernier/report/text.h"
#include "vernier/scheme.h"

namespace vernier::cli {
namespace {

struct PlanLine {
  std::string plan, model;
  bool csv = false;
  ResultGroup result;
  MessageGroup messages;
};

}  // namespace

Command add_inspect_plan(CLI::App& root) {
  auto line = std::make_shared<PlanLine>();
  CLI::App& app = add_command(command_group(root, "inspect", "Print what is in a file"), "plan",
                              "Print the layers, work and weights of a plan by format");
  add_argument(app, "PLAN", line->plan, "plan.json of diagnose");
  add_value(app, "--model", line->model, "FILE",
            "The plan's float model, to count work, weights, casts and Q/DQ pairs (default: none)")
      .group("Input");
  line->result.add(app);
  add_flag(app, "--csv", line->csv, "Print one line a layer as CSV, and nothing else, on stdout").group("Output");
  add_message_options(app, line->messages);
  add_footer(app, "Example: vernier inspect plan out/plan.json --model model.onnx");

  return {&app, &line->messages, [line](Console& console) {
            if (line->csv && line->result.json) {
              throw Error(ErrorCode::Contradiction, "--csv and --json: choose one", "leave out one of them");
            }
            const TextOptions text = line->result.values(console);
            const SchemeReport report = inspect_plan(line->plan, line->model);
            print_result(console, line->csv           ? report_to_csv(report)
                                  : line->result.json ? report_to_json(report)
                                                      : report_to_text(report, text));
            return 0;
          }};
}

}  // namespace vernier::cli
