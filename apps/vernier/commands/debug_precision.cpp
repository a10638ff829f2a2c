// `vernier debug precision`, and the older `vernier precision bisect|linear|worst-first`.

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/cache_folder.h"
#include "commands/commands.h"
#include "commands/diagnosis_line.h"
#include "console/console.h"
#include "options/check_options.h"
#include "options/comparison_options.h"
#include "options/engine_settings.h"
#include "options/gate_group.h"
#include "options/parse_values.h"
#include "vernier/diagnose.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/gate.h"
#include "vernier/report/kept_set.h"
#include "vernier/report/outcome.h"
#include "vernier/report/text.h"
#include "vernier/search_options.h"
#include "vernier/sinks.h"

namespace vernier::cli {
namespace {

struct PrecisionLine : DiagnosisLine {
  std::string rows = "30";
  bool json = false, ask = false;
  ComparisonGroup comparison;
  CheckGroup check;
  MeasureOnGroup on_engine;
  GateGroup gate;
  MessageGroup messages;

  bool runs_programs() const override { return check.given() || on_engine.on(); }
};

/// What a comparison as a search's objective cannot do.
void refuse_without_meaning(const ComparisonGroup& comparison) {
  if (comparison.check_average) {
    throw Error(ErrorCode::WithoutEffect, "--check-average: debug precision checks every iteration", "leave it out");
  }
  if (comparison.fail_fast) {
    throw Error(ErrorCode::WithoutEffect,
                "--fail-fast: each trial must run to its end, because its figures guide the search",
                "--budget N bounds the search");
  }
  if (!comparison.save_accuracy.empty()) {
    throw Error(ErrorCode::WithoutEffect, "--save-accuracy-results: a search compares many times",
                "pass -o DIR, then compare the output model with vernier run");
  }
}

DiagnoseOptions options_of(const PrecisionLine& line, const std::string& command, Console& console) {
  DiagnoseOptions options = line.values(command, "no low format: there is nothing to raise",
                                        line.output.empty() ? cache_folder() : std::filesystem::path(line.output));
  options.latency = false;
  refuse_without_meaning(line.comparison);
  if (options.measure.requirement && line.comparison.any()) {
    throw Error(ErrorCode::Contradiction, "a requirement and comparison options: only one can decide",
                "leave out one of the two");
  }
  options.confirm_on = line.on_engine.on();
  options.trials_on_engine = options.confirm_on.has_value();
  if (options.trials_on_engine) {
    options.search.minimal_too = false;
    options.engine = line.on_engine.values(options.measure.data);
    if (!(options.measure.requirement || line.task.given()) || line.check.given() || line.ask) {
      throw Error(ErrorCode::WithoutEffect,
                  "--on measures a requirement, labels or a metric script, not a comparison or a check",
                  "--min-sqnr DB, or another requirement");
    }
  }
  if (line.task.given()) {
    if (line.comparison.any() || line.check.given() || line.ask) {
      throw Error(ErrorCode::Contradiction, "labels, a metric script, a comparison, a check: only one can decide",
                  "leave out the others");
    }
    return options;
  }
  if (line.check.given() || line.ask) {
    if (line.check.given() && line.ask) {
      throw Error(ErrorCode::Contradiction, "--ask and --check: only one can decide", "leave out one of the two");
    }
    if (options.measure.requirement || line.comparison.any()) {
      throw Error(
          ErrorCode::Contradiction,
          fmt::format("{} decides alone: leave out the requirement or the comparison", line.ask ? "--ask" : "--check"),
          "leave out one of the two");
    }
    options.search.minimal_too = false;  // a check may build an engine: nobody asked for more of them
    options.search.check = line.check.values();
    options.search.check_sinks = check_sinks(console, line.json);
  } else if (!options.measure.requirement) {
    options.search.compare = line.comparison.values();
    options.search.postprocess = line.comparison.postprocess();
    options.search.validate = line.comparison.validate;
  }
  return options;
}

/// Who asks for a set wants the search's answer: one that was cut short is none, whatever the file says.
int search_exit_code(const DiagnoseReport& report) {
  const Outcome outcome = outcome_of(report);
  return outcome == Outcome::Stopped || outcome == Outcome::Unstable ? 1 : exit_code_of(report);
}

int run_search(const PrecisionLine& line, const std::string& command, Console& console) {
  for (const std::string& text : line.without_effect()) console.warning(text);
  for (const std::string& text : line.on_engine.without_effect(line.on_engine.on() == MeasureOn::TensorRt)) {
    console.warning(text);
  }
  const DiagnoseOptions options = options_of(line, command, console);
  TextOptions text = text_options(console);
  text.top = parse_count("--rows", line.rows, 0, 1'000'000'000);
  line.gate.check();
  const DiagnoseReport report = line.run(
      options, console, [&](const JobSinks& sinks) { return search_precision(options, sinks); },
      [&](const DiagnoseReport& of) {
        return of.kept && !line.json ? debug_precision_to_text(of, text) : diagnosis_words(of, line.json, text);
      });
  Gate gate = gate_of(report);
  gate.suite = "vernier debug precision";
  line.gate.tell(gate);
  return search_exit_code(report);
}

/// Everything but how the search goes.
void add_common(CLI::App& app, const std::shared_ptr<PrecisionLine>& line) {
  add_argument(app, "MODEL", line->model, "ONNX file, float");
  line->precision.add(app);
  line->add_requirement(app);
  line->search.add_golden(app);
  line->comparison.add(app);
  line->data.add(app, "Samples to measure on");
  line->data.add_calibration(app);
  line->on_engine.add(app);
  line->check.add(app, "polygraphy_debug.engine");
  add_flag(app, "--ask", line->ask, "Check each model yourself, and type p or f (needs a terminal)").group("Check");
  add_value(app, "-o,--output", line->output, "DIR",
            "Folder for the output model, its plan, the report and deploy.md (default: nothing is "
            "written)")
      .writes()
      .group("Output");
  line->external_data.add(app);
  add_flag(app, "--json", line->json, "Print the report as JSON (default: text)").group("Output");
  add_value(app, "--rows", line->rows, "N", "Last iterations to show; 0: all (default: 30)").group("Output");
}

const char* const kExitCodes =
    "Exit code: 0 a set found or none needed; 1 nothing passes, or stopped; 2 usage; 3 input; 4 backend; 5 no layer "
    "stays low; 70 internal error; 130 interrupted";

Command finish(CLI::App& app, const std::shared_ptr<PrecisionLine>& line, const std::string& command,
               const std::string& example) {
  line->gate.add(app);
  add_message_options(app, line->messages);
  const IgnoredOptions ignored = add_ignored_options(app);
  add_footer(app, fmt::format("Without a requirement or --check, outputs are compared with the reference, within the "
                              "tolerances above.\nTrials go to a journal in the folder of -o, or in ~/.cache/vernier. "
                              "--journal FILE chooses another file, --journal none turns it off.\nExample: {}\n{}",
                              example, kExitCodes));
  return {&app,
          &line->messages,
          [line, command](Console& console) { return run_search(*line, command, console); },
          ignored,
          /*spreads=*/true,
          &line->gate};
}

Command add_older(CLI::App& root, const std::string& command, SearchMode mode, const std::string& description) {
  auto line = std::make_shared<PrecisionLine>();
  CLI::App& app =
      add_command(command_group(root, "precision", "The older form of debug precision: --mode is the direction"),
                  std::string(word_of(mode)), description);
  line->search.add_direction_as_mode(app, mode, mode == SearchMode::WorstFirst);
  line->search.add(app);
  add_common(app, line);
  return finish(app, line, command,
                fmt::format("vernier precision {} model.onnx --golden=golden.json --data samples.npz{} --int8 "
                            "--precision=float32",
                            word_of(mode), mode == SearchMode::WorstFirst ? "" : " --mode=forward"));
}

}  // namespace

Command add_debug_precision(CLI::App& root, const std::string& command) {
  auto line = std::make_shared<PrecisionLine>();
  CLI::App& app = add_command(command_group(root, "debug", "Find where a model goes wrong"), "precision",
                              "Find layers to keep in high precision, so that outputs are accurate enough");
  line->search.add_modes(app);
  line->search.add(app);
  add_common(app, line);
  return finish(app, line, command,
                "vernier debug precision model.onnx --int8 --data samples.npz --mode bisect --atol 0.01");
}

std::vector<Command> add_precision(CLI::App& root, const std::string& command) {
  return {add_older(root, command, SearchMode::Bisect, "Find the first N layers to raise, by halving"),
          add_older(root, command, SearchMode::Linear, "Find the first N layers to raise, counting up"),
          add_older(root, command, SearchMode::WorstFirst,
                    "Raise the layers that add the most error to their inputs', several at a time")};
}

}  // namespace vernier::cli
