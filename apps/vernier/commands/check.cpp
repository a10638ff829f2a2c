#include <unistd.h>

#include <memory>
#include <string>

#include "commands/commands.h"
#include "console/console.h"
#include "options/comparison_options.h"
#include "options/gate_group.h"
#include "options/options.h"
#include "vernier/check_accuracy.h"
#include "vernier/report/gate.h"

namespace vernier::cli {
namespace {

struct CheckLine {
  std::string file;
  ComparisonGroup comparison;
  bool json = false;
  GateGroup gate;
  MessageGroup messages;
};

}  // namespace

Command add_check(CLI::App& root) {
  auto line = std::make_shared<CheckLine>();
  CLI::App& check = command_group(root, "check", "Check models, data and saved results");
  CLI::App& app =
      add_command(check, "accuracy",
                  "Compare saved accuracy results again, with recorded or other thresholds, without running anything");
  add_argument(app, "FILE", line->file, "Accuracy results from --save-accuracy-results of vernier or Polygraphy");
  line->comparison.add_for_record(app);
  add_flag(app, "--json", line->json, "Print the file with its new verdicts, and nothing else, on stdout")
      .group("Output");
  line->gate.add(app);
  add_message_options(app, line->messages);
  add_footer(app,
             "Other settings stay as recorded. Without thresholds, the recorded verdicts are printed.\nExample: "
             "vernier check accuracy results.json --check-error-stat max --atol 1e-3\nExit code: 0 passed; 1 failed; 2 "
             "usage; 3 input; 70 internal error");

  return {&app,
          &line->messages,
          [line](Console& console) {
            CheckAccuracyOptions options;
            options.path = line->file;
            options.again = line->comparison.again();
            options.check_average = line->comparison.check_average;
            options.save = line->comparison.save_accuracy;
            if (!options.save.empty()) require_writable_file(options.save);
            ComparisonTextOptions text;
            text.color = wants_color(STDOUT_FILENO);
            line->gate.check();
            const CheckAccuracyResult result = check_accuracy(options);
            print_result(console, line->json ? result.record.to_json(result.compare) : result_to_text(result, text));
            line->gate.tell(gate_of(result));
            return result.passed ? 0 : 1;
          },
          /*ignored=*/nullptr,
          /*spreads=*/false,
          &line->gate};
}

}  // namespace vernier::cli
