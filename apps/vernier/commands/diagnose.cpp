#include "vernier/diagnose.h"

#include <memory>

#include "commands/commands.h"
#include "commands/diagnosis_line.h"
#include "console/console.h"
#include "options/gate_group.h"
#include "options/rows.h"
#include "table/diagnose.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/gate.h"
#include "vernier/report/outcome.h"
#include "vernier/report/text.h"
#include "vernier/sinks.h"

namespace vernier::cli {
namespace {

struct DiagnoseLine : DiagnosisLine {
  GateGroup gate;
  MessageGroup messages;
  ResultGroup result;
};

DiagnoseOptions options_of(const DiagnoseLine& line, const std::string& command) {
  DiagnoseOptions options = line.values(command, "no low format: nothing to diagnose", /*journals=*/{});
  read_rows(table::kAlternatives, line.typed, options);
  const bool timed = line.typed.given("--latency");
  if (timed && line.typed.given("--no-latency")) {
    throw Error(ErrorCode::Contradiction, "--latency and --no-latency contradict each other", "leave out one of them");
  }
  if (timed || line.typed.given("--no-latency")) options.latency = timed;
  if (line.typed.given("--no-options") && line.typed.given("--options")) {
    throw Error(ErrorCode::Contradiction, "--options and --no-options contradict each other", "leave out one of them");
  }
  if (!line.typed.given("--options")) options.alternatives = line.typed.given("--no-options") ? 0 : 2;
  return options;
}

}  // namespace

Command add_diagnose(CLI::App& root, const std::string& command) {
  auto line = std::make_shared<DiagnoseLine>();
  CLI::App& app = add_command(
      root, "diagnose",
      "Find the layers that low precision breaks, and the layers to keep in high precision to meet a requirement. It "
      "uses repairs if they cost less (--no-options: never)");
  add_argument(app, "MODEL", line->model, "ONNX file, float");
  line->precision.add(app);
  line->add_per_tensor(app);
  line->add_quantized(app);
  line->add_requirement(app);
  line->search.add(app);
  add_rows(app, table::kAlternatives, line->typed);
  line->data.add(app, "Samples to measure on");
  line->data.add_calibration(app);
  line->add_claim(app);
  line->add_no_cache(app);
  line->add_extent(app);
  add_value(app, "-o,--output", line->output, "DIR",
            "Folder for the output model, the plan, the report as JSON and as a page, and deploy.md (default: nothing "
            "is written)")
      .writes()
      .group("Output");
  line->external_data.add(app);
  line->add_sample_pictures(app);
  line->engine.add_behind_compile(app);
  line->engine.add_confirm_on(app);
  line->gate.add(app);
  line->result.add(app);
  add_message_options(app, line->messages);
  const IgnoredOptions ignored = add_ignored_options(app);
  add_footer(app,
             "Example: vernier diagnose model.onnx --data samples.npz --int8 --min-sqnr 20 -o out\nExit code: 0 no "
             "requirement, or met; 1 missed; 2 usage; 3 input; 4 backend; 5 met, with no layer left in low precision; "
             "70 internal error; 130 interrupted");

  return {&app,
          &line->messages,
          [line, command](Console& console) {
            for (const std::string& text : line->without_effect()) console.warning(text);
            const DiagnoseOptions options = options_of(*line, command);
            TextOptions text = line->result.values(console);
            text.verbose = line->messages.verbose > 0;
            line->gate.check();
            const DiagnoseReport report = line->run(
                options, console, [&](const JobSinks& sinks) { return diagnose(options, sinks); },
                [&](const DiagnoseReport& of) { return diagnosis_words(of, line->result.json, text); });
            line->gate.tell(gate_of(report));
            return exit_code_of(report);
          },
          ignored,
          /*spreads=*/true,
          &line->gate};
}

}  // namespace vernier::cli
