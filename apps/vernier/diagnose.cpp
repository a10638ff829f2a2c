#include <memory>

#include "commands.h"
#include "console.h"
#include "core/file.h"
#include "interrupt.h"
#include "options.h"
#include "search_group.h"
#include "vernier/debug_precision.h"
#include "vernier/error.h"
#include "vernier/jobs.h"
#include "vernier/report.h"

namespace vernier::cli {
namespace {

struct DiagnoseLine {
  std::string model, output;
  std::vector<std::string> outputs;
  bool no_latency = false, external_data = false;
  PrecisionGroup precision;
  RequirementGroup requirement;
  SearchGroup search;
  DataGroup data;
  MessageGroup messages;
  ResultGroup result;
};

DiagnoseOptions options_of(const DiagnoseLine& line, const std::string& command) {
  if (!line.precision.any_low()) {
    throw Error(ErrorKind::Usage, "no low format: nothing to diagnose", "add --int8, --fp16, --bf16 or --fp8");
  }
  DiagnoseOptions options;
  options.model = line.model;
  options.output = line.output;
  options.measure = line.data.values();
  options.measure.outputs = line.outputs;
  options.measure.requirement = line.requirement.values();
  options.precision = line.precision.values();
  options.command = command;
  options.latency = !line.no_latency;
  options.external_data = line.external_data;
  options.search = line.search.values("");
  return options;
}

/// 0 without a requirement or when it is met, 1 when it is missed.
int exit_code_of(const DiagnoseReport& report) {
  if (!report.requirement) return 0;
  if (report.final_figures && report.final_figures->passed) return *report.final_figures->passed ? 0 : 1;
  if (report.kept) return report.kept->end == "certified" || report.kept->end == "nothing-needed" ? 0 : 1;
  return report.all_low.passed.value_or(false) ? 0 : 1;
}

}  // namespace

Command add_diagnose(CLI::App& root, const std::string& command) {
  auto line = std::make_shared<DiagnoseLine>();
  CLI::App* app = root.add_subcommand(
      "diagnose",
      "Find which layers low precision breaks, and those that must stay in high precision to meet a requirement");
  add_argument(*app, "MODEL", line->model, "ONNX file, float");
  line->precision.add(*app);
  line->requirement.add(*app);
  add_values(*app, "--outputs", line->outputs, "NAME",
             "Outputs to judge (default: every float output that carries no state)")
      ->group("Requirement (one metric; default: none; must hold for each judged output)");
  line->search.add(*app);
  app->add_flag("--no-latency", line->no_latency, "Do not time the models on ONNX Runtime (default: do)")
      ->group("Search");
  line->data.add(*app, "Samples to measure on");
  line->data.add_calibration(*app);
  add_value(*app, "-o,--output", line->output, "DIR",
            "Folder for the typed model, the plan, the report and deploy.md (default: nothing is written)")
      ->group("Output");
  app->add_flag("--save-external-data", line->external_data,
                "Write the typed model's weights into a file beside it (default: only above 1.9 GB)")
      ->group("Output");
  line->result.add(*app);
  add_message_options(*app, line->messages);
  const IgnoredOptions ignored = add_ignored_options(*app);
  app->footer(
      "Example: vernier diagnose model.onnx --data samples.npz --int8 --min-sqnr 20 -o out\n"
      "Exit code: 0 no requirement, or met; 1 missed; 2 usage; 3 input; 4 backend; 70 our fault; 130 interrupted");

  return {app, &line->messages,
          [line, command](Console& console) {
            for (const std::string& text : line->data.without_effect(line->precision.any_script()))
              console.warning(text);
            const DiagnoseOptions options = options_of(*line, command);
            const TextOptions text = line->result.values();
            if (!options.output.empty()) require_writable_folder(options.output);
            for (const std::string& file : {line->search.pareto_csv, line->search.pareto_svg}) {
              if (!file.empty()) require_writable_file(file);
            }
            const DiagnoseReport report = diagnose(options, console.sinks());
            const KeptSetReport none;
            const KeptSetReport& kept = report.kept ? *report.kept : none;
            if (!line->search.pareto_csv.empty()) replace_file(line->search.pareto_csv, pareto_to_csv(kept));
            if (!line->search.pareto_svg.empty()) replace_file(line->search.pareto_svg, pareto_to_svg(kept));
            print_result(console, line->result.json ? report_to_json(report) : report_to_text(report, text));
            return exit_code_of(report);
          },
          ignored};
}

}  // namespace vernier::cli
