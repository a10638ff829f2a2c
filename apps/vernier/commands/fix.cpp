
#include "vernier/fix.h"

#include <algorithm>
#include <memory>

#include "base/text.h"
#include "commands/commands.h"
#include "commands/diagnosis_line.h"
#include "console/console.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/sinks.h"

namespace vernier::cli {
namespace {

constexpr const char* kRepairs = "Repairs";

struct FixLine : AnswerLine {
  std::vector<std::string> allow, forbid;
  std::string qat;
  bool latency = false, no_latency = false;
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
  options.repair.qat = line.qat;
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
  add_value(app, "--qat", line->qat, "DIR",
            "Also write DIR/qat.py: formats, ranges and excluded layers by torch module, for training with ModelOpt "
            "(default: not written)")
      .writes()
      .group(kRepairs);
  line->add_question(app);
  add_flag(app, "--latency", line->latency,
           "Time the models, on ONNX Runtime or the engine of --confirm-on (default: do not)")
      .group("Search");
  add_flag(app, "--no-latency", line->no_latency, "Do not time the models (this is the default)").group("Search");
  const IgnoredOptions ignored = line->add_answer(
      app, "Folder for the output model, the plan, the report and deploy.md (default: nothing is written)",
      "vernier fix model.onnx --data samples.npz --int8 --min-sqnr 20 -o out");
  return {&app,
          &line->messages,
          [line, command](Console& console) {
            const FixOptions options = options_of(*line, command);
            return line->answer(console, options, [&](const JobSinks& sinks) { return fix(options, sinks); });
          },
          ignored,
          /*spreads=*/false,
          &line->gate};
}

}  // namespace vernier::cli
