#include "vernier/diagnose.h"

#include <memory>

#include "commands/commands.h"
#include "commands/diagnosis_line.h"
#include "console/console.h"
#include "options/rows.h"
#include "table/diagnose.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/sinks.h"

namespace vernier::cli {
namespace {

DiagnoseOptions options_of(const AnswerLine& line, const std::string& command) {
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
  auto line = std::make_shared<AnswerLine>();
  CLI::App& app = add_command(
      root, "diagnose",
      "Find the layers that low precision breaks, and the layers to keep in high precision to meet a requirement. It "
      "uses repairs if they cost less (--no-options: never)");
  add_argument(app, "MODEL", line->model, "ONNX file, float");
  line->add_question(app);
  add_rows(app, table::kAlternatives, line->typed);
  const IgnoredOptions ignored = line->add_answer(
      app,
      "Folder for the output model, the plan, the report as JSON and as a page, and deploy.md (default: "
      "nothing is written)",
      "vernier diagnose model.onnx --data samples.npz --int8 --min-sqnr 20 -o out");
  return {&app,
          &line->messages,
          [line, command](Console& console) {
            const DiagnoseOptions options = options_of(*line, command);
            return line->answer(console, options, [&](const JobSinks& sinks) { return diagnose(options, sinks); });
          },
          ignored,
          /*spreads=*/true,
          &line->gate};
}

}  // namespace vernier::cli
