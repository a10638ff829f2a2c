
#include "vernier/fix.h"

#include <algorithm>
#include <memory>

#include "base/text.h"
#include "commands/commands.h"
#include "commands/diagnosis_line.h"
#include "console/console.h"
#include "options/gate_group.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/gate.h"
#include "vernier/report/outcome.h"
#include "vernier/sinks.h"

namespace vernier::cli {
namespace {

constexpr const char* kRepairs = "Repairs";

struct FixLine : DiagnosisLine {
  std::vector<std::string> allow, forbid;
  bool latency = false, no_latency = false;
  GateGroup gate;
  MessageGroup messages;
  ResultGroup result;
};

/// Errors: Usage for an id that is no repair.
void check_ids(const std::string& option, const std::vector<std::string>& ids) {
  std::vector<std::string> known;
  for (const RepairName& repair : repair_names()) known.push_back(repair.id);
  for (const std::string& id : ids) {
    if (std::ranges::find(known, id) != known.end()) continue;
    throw Error(ErrorCode::UnknownName, option + ": '" + printable(id) + "' is not a repair",
                "repairs: " + list_some(known, known.size()));
  }
}

FixOptions options_of(const FixLine& line, const std::string& command) {
  if (line.latency && line.no_latency) {
    throw Error(ErrorCode::Contradiction, "--latency and --no-latency contradict each other", "leave out one of them");
  }
  check_ids("--allow", line.allow);
  check_ids("--forbid", line.forbid);
  FixOptions options{line.values(command, "no low format: nothing to fix", /*journals=*/{}), {line.allow, line.forbid}};
  options.latency = line.latency;
  return options;
}

}  // namespace

Command add_fix(CLI::App& root, const std::string& command) {
  auto line = std::make_shared<FixLine>();
  CLI::App& app = add_command(
      root, "fix",
      "Repair the layers that low precision breaks, and keep layers in high precision only if repairs are not enough");
  add_argument(app, "MODEL", line->model, "ONNX file, float");
  std::string names;
  for (const RepairName& repair : repair_names()) names += (names.empty() ? "" : ", ") + repair.id;
  add_values(app, "--allow", line->allow, "REPAIR", "Try these repairs only (default: all): " + names).group(kRepairs);
  add_values(app, "--forbid", line->forbid, "REPAIR", "Do not try these repairs (default: none)").group(kRepairs);
  line->precision.add(app);
  line->add_per_tensor(app);
  line->add_quantized(app);
  line->add_requirement(app);
  line->search.add(app);
  add_flag(app, "--latency", line->latency,
           "Time the models, on ONNX Runtime or the engine of --confirm-on (default: do not)")
      .group("Search");
  add_flag(app, "--no-latency", line->no_latency, "Do not time the models (this is the default)").group("Search");
  line->data.add(app, "Samples to measure on");
  line->data.add_calibration(app);
  line->add_claim(app);
  line->add_no_cache(app);
  line->add_extent(app);
  add_value(app, "-o,--output", line->output, "DIR",
            "Folder for the output model, the plan, the report and deploy.md (default: nothing is written)")
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
             "Example: vernier fix model.onnx --data samples.npz --int8 --min-sqnr 20 -o out\nExit code: 0 no "
             "requirement, or met; 1 missed; 2 usage; 3 input; 4 backend; 5 met, with no layer left in low precision; "
             "70 internal error; 130 interrupted");
  return {&app,
          &line->messages,
          [line, command](Console& console) {
            for (const std::string& text : line->without_effect()) console.warning(text);
            const FixOptions options = options_of(*line, command);
            TextOptions text = line->result.values(console);
            text.verbose = line->messages.verbose > 0;
            line->gate.check();
            const DiagnoseReport report = line->run(
                options, console, [&](const JobSinks& sinks) { return fix(options, sinks); },
                [&](const DiagnoseReport& of) { return diagnosis_words(of, line->result.json, text); });
            line->gate.tell(gate_of(report));
            return exit_code_of(report);
          },
          ignored,
          /*spreads=*/false,
          &line->gate};
}

}  // namespace vernier::cli
