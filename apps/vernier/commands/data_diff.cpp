
#include "vernier/data_diff.h"

#include <fmt/format.h>

#include <cstddef>
#include <limits>
#include <memory>
#include <vector>

#include "commands/commands.h"
#include "console/console.h"
#include "options/gate_group.h"
#include "options/options.h"
#include "options/parse_values.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/report/data_diff.h"
#include "vernier/report/gate.h"
#include "vernier/report/text.h"

namespace vernier::cli {
namespace {

struct DiffLine {
  std::vector<std::string> files;
  std::string reference, tested;  // under the words of older scripts
  bool tested_by_script = false;
  std::string reference_run, tested_run;
  std::string metric, threshold, format = "table", top = "15";
  GateGroup gate;
  MessageGroup messages;
};

DiffOptions options_of(const DiffLine& line) {
  DiffOptions options;
  std::vector<std::string> files = line.files;
  if (!line.reference.empty()) files.insert(files.begin(), line.reference);
  if (!line.tested.empty()) files.push_back(line.tested);
  if (files.size() != 2) {
    throw Error(ErrorCode::MissingArgument, "data diff needs two files of saved outputs, the reference first",
                "vernier data diff REFERENCE TESTED, or --fp16-outputs REFERENCE --int8-outputs TESTED");
  }
  options.reference = files[0];
  options.tested = files[1];
  options.reference_run = line.reference_run;
  options.tested_run = line.tested_run;
  if (!line.metric.empty()) {
    options.metric = parse_choice<DiffMetric>("--metric", line.metric);
  } else if (!line.tested.empty() && line.tested_by_script) {
    options.metric = DiffMetric::MaxAbs;  // what the threshold of the script with these words means
  } else {
    options.metric_chosen = false;
  }
  if (!line.threshold.empty()) options.threshold = parse_number("--threshold", line.threshold);
  return options;
}

}  // namespace

Command add_data_diff(CLI::App& root, const std::string& command) {
  auto line = std::make_shared<DiffLine>();
  CLI::App& app = add_command(command_group(root, "data", "Compare, join and convert saved inputs and results"), "diff",
                              "Rank the outputs of two saved runs by their errors");
  add_arguments(app, "FILE", line->files, "Two files of saved outputs: the reference, then the one tested");
  add_value(app, "--fp16-outputs,--fp32-outputs,--reference", line->reference, "FILE",
            "The reference, instead of the first argument (default: none)")
      .group("Files");
  add_value(
      app, "--int8-outputs", [line](const std::string& file) { line->tested = file, line->tested_by_script = true; },
      "FILE", "The same as --tested, with the metric of parse_layer_errors.py: max_abs, unless --metric names another")
      .group("Files");
  add_value(app, "--tested", line->tested, "FILE", "The tested run, instead of the second argument (default: none)")
      .group("Files");
  add_value(app, "--reference-run", line->reference_run, "RUN",
            "Run of the reference file: its name, a part of it, or its number from 0 (default: the last)")
      .group("Files");
  add_value(app, "--tested-run", line->tested_run, "RUN",
            "Run of the tested file, in the same ways (default: the last)")
      .group("Files");
  add_value(
      app, "--metric", line->metric, "METRIC",
      "Metric to rank by: sqnr (dB) max_abs mean_abs max_rel cosine mse (default: sqnr; max_abs with --int8-outputs)")
      .group("Ranking");
  add_value(app, "--threshold", line->threshold, "T",
            "Mark outputs worse than T, in the metric's unit; the exit code is 1 if there are any (default: none)")
      .group("Ranking");
  add_value(app, "--top", line->top, "N", "Outputs in the printed table; 0: all (default: 15)").group("Output");
  add_value(app, "--format", line->format, "FORMAT",
            "Output format: table, json or csv; json and csv hold all outputs (default: table)")
      .group("Output");
  add_flag(
      app, "--json", [line] { line->format = "json"; }, "The same as --format json")
      .group("Output");
  line->gate.add(app);
  add_message_options(app, line->messages);
  add_footer(
      app,
      "Example: vernier data diff fp32.json int8.json --metric sqnr --threshold 20 --top 10\nExit code: 0 no "
      "threshold, or no output beyond it; 1 outputs beyond it; 2 usage; 3 input; 70 internal error; 130 interrupted");

  return {&app,
          &line->messages,
          [line, command](Console& console) {
            DiffOptions options = options_of(*line);
            options.command = command;
            const std::string format = parse_choice("--format", line->format, {"table", "json", "csv"});
            TextOptions text = text_options(console);
            text.top = parse_count("--top", line->top, 0, std::numeric_limits<std::size_t>::max());
            line->gate.check();
            const DiffReport report = compare(options, console.sinks());
            print_result(console, format == "json"  ? report_to_json(report)
                                  : format == "csv" ? report_to_csv(report)
                                                    : report_to_text(report, text));
            line->gate.tell(gate_of(report));
            return report.passed.value_or(true) ? 0 : 1;
          },
          /*ignored=*/nullptr,
          /*spreads=*/false,
          &line->gate};
}

}  // namespace vernier::cli
