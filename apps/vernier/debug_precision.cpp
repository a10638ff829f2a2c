// `vernier debug precision`, and the older `vernier precision bisect|linear|worst-first`.
#include "vernier/debug_precision.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>

#include "check_options.h"
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
  std::string labels, label_offset = "0", min_top1, min_top5, metric_script, metric_min, metric_max;
  bool json = false, external_data = false;
  PrecisionGroup precision;
  RequirementGroup requirement;
  ComparisonGroup comparison;
  DataGroup data;
  SearchGroup search;
  CheckGroup check;
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

std::optional<LabelRequirement> labels_of(const PrecisionLine& line) {
  const bool any = !line.labels.empty() || !line.min_top1.empty() || !line.min_top5.empty() || line.label_offset != "0";
  if (!any) return std::nullopt;
  if (line.labels.empty()) {
    throw Error(ErrorKind::Usage, "--min-top1, --min-top5 and --label-offset need --labels FILE");
  }
  if (line.min_top1.empty() == line.min_top5.empty()) {
    throw Error(ErrorKind::Usage, "--labels need one of --min-top1 P and --min-top5 P");
  }
  LabelRequirement wanted;
  wanted.file = line.labels;
  wanted.top = line.min_top1.empty() ? 5 : 1;
  const char* option = line.min_top1.empty() ? "--min-top5" : "--min-top1";
  wanted.min_share = parse_number(option, line.min_top1.empty() ? line.min_top5 : line.min_top1);
  if (wanted.min_share < 0 || wanted.min_share > 1) {
    throw Error(ErrorKind::Usage, fmt::format("{}: {} is not in [0, 1]", option, wanted.min_share));
  }
  const double offset = parse_number("--label-offset", line.label_offset);
  if (offset != std::floor(offset) || std::abs(offset) > 1e9) {
    throw Error(ErrorKind::Usage, fmt::format("--label-offset: {} is no whole number", line.label_offset));
  }
  wanted.offset = static_cast<std::int64_t>(offset);
  return wanted;
}

std::optional<MetricScript> metric_of(const PrecisionLine& line) {
  if (line.metric_script.empty() && line.metric_min.empty() && line.metric_max.empty()) return std::nullopt;
  if (line.metric_script.empty()) throw Error(ErrorKind::Usage, "--min and --max need --metric-script FILE.py");
  if (line.metric_min.empty() && line.metric_max.empty()) {
    throw Error(ErrorKind::Usage, "--metric-script: what its value must be is missing", "--min V, --max V, or both");
  }
  MetricScript wanted;
  wanted.script = line.metric_script;
  if (!line.metric_min.empty()) wanted.min = parse_number("--min", line.metric_min);
  if (!line.metric_max.empty()) wanted.max = parse_number("--max", line.metric_max);
  return wanted;
}

DiagnoseOptions options_of(const PrecisionLine& line, const std::string& command, Console& console) {
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
  options.search.labels = labels_of(line);
  options.search.metric = metric_of(line);
  const int others = (options.search.labels ? 1 : 0) + (options.search.metric ? 1 : 0);
  if (others > 1 || (others == 1 && (options.measure.requirement || line.comparison.any() || line.check.given()))) {
    throw Error(ErrorKind::Usage, "labels, a metric script, a requirement, a comparison, a check: only one can decide",
                "leave out the others");
  }
  if (others == 1) return options;
  if (line.check.given()) {
    if (options.measure.requirement || line.comparison.any()) {
      throw Error(ErrorKind::Usage, "--check decides alone: a requirement or a comparison beside it has no say",
                  "leave out one of the two");
    }
    options.search.check = line.check.values();
    options.search.check_sinks = check_sinks(console);
  } else if (!options.measure.requirement) {
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
  for (const std::string& text : line.data.without_effect(line.precision.any_script() || !line.metric_script.empty()))
    console.warning(text);
  const DiagnoseOptions options = options_of(line, command, console);
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
  const char* const task = "Task (in the place of a requirement)";
  add_value(app, "--labels", line->labels, "FILE",
            "Right classes, one a sample: .npy of whole numbers, or text with one a line (default: none)")
      ->group(task);
  add_value(app, "--label-offset", line->label_offset, "N", "Added to every label (default: 0)")->group(task);
  add_value(app, "--min-top1", line->min_top1, "P", "Share of samples whose largest score is the label's, 0 to 1")
      ->group(task);
  add_value(app, "--min-top5", line->min_top5, "P", "Share whose label is among the five largest scores, 0 to 1")
      ->group(task);
  add_value(app, "--metric-script", line->metric_script, "FILE.py[:FUNC]",
            "FUNC(outputs, references) -> number, of lists with one dict {name: array} a sample; run in your Python "
            "(default function: metric)")
      ->group(task);
  add_value(app, "--min", line->metric_min, "V", "The number must be at least V")->group(task);
  add_value(app, "--max", line->metric_max, "V", "The number must be at most V")->group(task);
  line->search.add_golden(app);
  line->comparison.add(app);
  line->data.add(app, "Samples to measure on");
  line->data.add_calibration(app);
  line->check.add(app, "polygraphy_debug.engine");
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
  app->footer(fmt::format(
      "Without a requirement and without --check outputs are compared with the reference, within the tolerances "
      "above.\n"
      "Trials go to MODEL.precision.jsonl in the current folder unless --journal says otherwise; --journal "
      "none keeps none.\nExample: {}\n{}",
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
