// `vernier debug precision`, and the older `vernier precision bisect|linear|worst-first`.
#include "vernier/debug_precision.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "commands.h"
#include "comparison_options.h"
#include "console.h"
#include "core/file.h"
#include "options.h"
#include "parse_values.h"
#include "search_group.h"
#include "vernier/error.h"

namespace vernier::cli {
namespace {

struct PrecisionLine {
  std::string model, output, rows = "30";
  std::vector<std::string> outputs;
  bool json = false, external_data = false;
  PrecisionGroup precision;
  RequirementGroup requirement;
  ComparisonGroup comparison;
  DataGroup data;
  SearchGroup search;
  MessageGroup messages;
};

/// What a comparison as a search's objective cannot do.
void refuse_without_meaning(const ComparisonGroup& comparison) {
  if (comparison.check_average) {
    throw Error(ErrorKind::Usage, "--check-average: every iteration is judged here", "leave it out");
  }
  if (comparison.fail_fast) {
    throw Error(ErrorKind::Usage, "--fail-fast: each trial says what it would need, for which it must end",
                "--budget N bounds the search");
  }
  if (!comparison.save_accuracy.empty()) {
    throw Error(ErrorKind::Usage, "--save-accuracy-results: a search compares many times",
                "-o DIR, then vernier run compares what was written and saves");
  }
}

DiagnoseOptions options_of(const PrecisionLine& line, const std::string& command) {
  if (!line.precision.any_low()) {
    throw Error(ErrorKind::Usage, "no low format: there is nothing to raise", "add --int8, --fp16, --bf16 or --fp8");
  }
  DiagnoseOptions options;
  options.model = line.model;
  options.output = line.output;
  options.measure = line.data.values();
  options.measure.outputs = line.outputs;
  options.measure.requirement = line.requirement.values();
  options.precision = line.precision.values();
  options.command = command;
  options.latency = false;
  options.external_data = line.external_data;
  options.search = line.search.values(options.model.stem().string() + ".precision.jsonl");
  refuse_without_meaning(line.comparison);
  if (options.measure.requirement && line.comparison.any()) {
    throw Error(ErrorKind::Usage, "a requirement and options of a comparison: only one can decide",
                "leave out one of the two");
  }
  if (!options.measure.requirement) {
    options.search.compare = line.comparison.values();
    options.search.postprocess = line.comparison.postprocess();
    options.search.validate = line.comparison.validate;
  }
  return options;
}

int exit_code_of(const DiagnoseReport& report) {
  const KeptSetReport& kept = *report.kept;
  if (kept.end == "impossible" || kept.end == "stopped" || kept.end == "unstable") return 1;
  if (kept.file_test && kept.file_test->verdict != "good") return 1;
  return report.final_figures && report.final_figures->passed == false ? 1 : 0;
}

int run_search(const PrecisionLine& line, const std::string& command, Console& console) {
  for (const std::string& text : line.data.without_effect(line.precision.any_script())) console.warning(text);
  const DiagnoseOptions options = options_of(line, command);
  TextOptions text = text_options();
  text.top = parse_count("--rows", line.rows, 0, 1'000'000'000);
  if (!options.output.empty()) require_writable_folder(options.output);
  for (const std::string& file : {line.search.pareto_csv, line.search.pareto_svg}) {
    if (!file.empty()) require_writable_file(file);
  }
  const DiagnoseReport report = diagnose(options, console.sinks());
  if (!line.search.pareto_csv.empty()) replace_file(line.search.pareto_csv, pareto_to_csv(*report.kept));
  if (!line.search.pareto_svg.empty()) replace_file(line.search.pareto_svg, pareto_to_svg(*report.kept));
  print_result(console, line.json ? report_to_json(report) : debug_precision_to_text(report, text));
  return exit_code_of(report);
}

/// Everything but how the search goes.
void add_common(CLI::App& app, const std::shared_ptr<PrecisionLine>& line) {
  add_argument(app, "MODEL", line->model, "ONNX file, float");
  line->precision.add(app);
  line->requirement.add(app);
  add_values(app, "--outputs", line->outputs, "NAME",
             "Outputs to judge (default: every float output that carries no state)")
      ->group("Requirement (one metric; default: none; must hold for each judged output)");
  line->search.add_golden(app);
  line->comparison.add(app);
  line->data.add(app, "Samples to measure on");
  line->data.add_calibration(app);
  add_value(app, "-o,--output", line->output, "DIR",
            "Folder for the typed model of the answer, its plan, the report and deploy.md (default: nothing is "
            "written)")
      ->group("Output");
  app.add_flag("--save-external-data", line->external_data,
               "Write the typed model's weights into a file beside it (default: only above 1.9 GB)")
      ->group("Output");
  app.add_flag("--json", line->json, "Print the report as JSON (default: text)")->group("Output");
  add_value(app, "--rows", line->rows, "N", "Iterations to show, the last ones; 0: all (default: 30)")->group("Output");
}

const char* const kExitCodes =
    "Exit code: 0 a set was found, or none is needed; 1 nothing passes, or the search was cut short; 2 usage; 3 input; "
    "4 backend; 70 our fault; 130 interrupted";

Command finish(CLI::App* app, const std::shared_ptr<PrecisionLine>& line, const std::string& command,
               const std::string& example) {
  add_message_options(*app, line->messages);
  const IgnoredOptions ignored = add_ignored_options(*app);
  app->footer(
      fmt::format("Without a requirement outputs are compared with the reference, within the tolerances above.\n"
                  "Trials go to MODEL.precision.jsonl in the current folder unless --journal says otherwise; --journal "
                  "'' keeps none.\nExample: {}\n{}",
                  example, kExitCodes));
  return {app, &line->messages, [line, command](Console& console) { return run_search(*line, command, console); },
          ignored};
}

Command add_older(CLI::App& root, const std::string& command, SearchMode mode, const std::string& description) {
  auto line = std::make_shared<PrecisionLine>();
  CLI::App* app = command_group(root, "precision", "The older form of debug precision: --mode is the direction")
                      .add_subcommand(std::string(search_mode_name(mode)), description);
  line->search.add_direction_as_mode(*app, mode, mode == SearchMode::WorstFirst);
  line->search.add(*app);
  add_common(*app, line);
  return finish(app, line, command,
                fmt::format("vernier precision {} model.onnx --golden=golden.json --data samples.npz{} --int8 "
                            "--precision=float32",
                            search_mode_name(mode), mode == SearchMode::WorstFirst ? "" : " --mode=forward"));
}

}  // namespace

Command add_debug_precision(CLI::App& root, const std::string& command) {
  auto line = std::make_shared<PrecisionLine>();
  CLI::App* app =
      command_group(root, "debug", "Find where a model goes wrong")
          .add_subcommand("precision", "Find layers to run in high precision so that the outputs are accurate enough");
  line->search.add_modes(*app);
  line->search.add(*app);
  add_common(*app, line);
  return finish(app, line, command,
                "vernier debug precision model.onnx --int8 --data samples.npz --mode bisect --atol 0.01");
}

std::vector<Command> add_precision(CLI::App& root, const std::string& command) {
  return {add_older(root, command, SearchMode::Bisect, "Find the first N layers to raise, by halving"),
          add_older(root, command, SearchMode::Linear, "Find the first N layers to raise, counting up"),
          add_older(root, command, SearchMode::WorstFirst,
                    "Raise the layers whose error rises most over their inputs', more at a time")};
}

}  // namespace vernier::cli
