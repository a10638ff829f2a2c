
#include "vernier/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "commands/commands.h"
#include "console/console.h"
#include "options/comparison_options.h"
#include "options/engine_settings.h"
#include "options/gate_group.h"
#include "options/options.h"
#include "options/runner_options.h"
#include "scripts/script_location.h"
#include "vernier/report/gate.h"

namespace vernier::cli {
namespace {

struct RunLine {
  std::vector<std::string> models;
  RunnerGroup runners;
  EngineSettingsGroup engine;
  DataGroup data;
  ComparisonGroup comparison;
  std::vector<std::string> load_outputs;
  std::string save_outputs, save_inputs;
  bool json = false;
  GateGroup gate;
  MessageGroup messages;
};

RunOptions options_of(const RunLine& line) {
  RunOptions options;
  options.runners = line.runners.values(line.models);
  options.load_outputs.assign(line.load_outputs.begin(), line.load_outputs.end());
  options.measure = line.data.values();
  options.onnx_outputs = line.runners.onnx_outputs();
  options.trt_outputs = line.runners.trt_outputs();
  options.engine = line.engine.values();
  options.providers = line.runners.providers();
  options.optimization = line.runners.optimization();
  options.save_outputs = line.save_outputs;
  options.save_inputs = line.save_inputs;
  options.save_accuracy = line.comparison.save_accuracy;
  options.compare = line.comparison.values();
  options.postprocess = line.comparison.postprocess();
  options.postprocess_script = line.comparison.postprocess_script;
  options.compare_script = line.comparison.compare_script;
  options.validate = line.comparison.validate;
  options.fail_fast = line.comparison.fail_fast;
  options.save_heatmaps = line.comparison.heatmaps;
  options.save_error_plots = line.comparison.error_plots;
  options.show_heatmaps = line.comparison.show_heatmaps;
  options.show_error_plots = line.comparison.show_error_plots;
  options.detail = line.messages.verbose > 0;
  options.each_iteration = line.messages.quiet < 2;
  options.statistics = line.messages.quiet == 0;
  return options;
}

bool any_model_script(const std::vector<std::string>& models) {
  return std::any_of(models.begin(), models.end(), [](const std::string& model) { return script_location(model); });
}

/// Runs it; with --junit or --github continuous integration is told what `events` is told.
RunResult run_for_gate(const RunLine& line, const RunOptions& options, Console& console, const RunEvents& events) {
  if (!line.gate.given()) return run(options, console.sinks(), events);
  RunOptions with_verdicts = options;
  with_verdicts.each_iteration = true;
  RunGate gate;
  RunResult result = run(with_verdicts, console.sinks(), [&](const RunEvent& event) {
    gate(event);
    if (events) events(event);
  });
  line.gate.tell(gate.gate());
  return result;
}

std::string last_line(const RunResult& result, double seconds, const std::string& command) {
  return fmt::format("{} | Runtime: {:.3f}s | Command: {}", result.passed ? "[I] PASSED" : "[E] FAILED", seconds,
                     command);
}

}  // namespace

Command add_run(CLI::App& root, const std::string& command) {
  auto line = std::make_shared<RunLine>();
  CLI::App& app = add_command(
      root, "run",
      "Run models, save what they give, and compare each run with the next: runners in the order of the command line, "
      "then saved runs; the last is the reference");
  add_arguments(app, "MODEL", line->models,
                "ONNX files, float or typed, under any name, or scripts that make them: loader.py[:FUNC] (none: only "
                "saved runs)");
  line->runners.add(app);
  line->runners.add_outputs(app);
  line->engine.add(app);
  line->engine.add_workspace(app, "");
  line->data.add(app, "Samples to run on");
  line->data.add_calibration(app);
  add_value(app, "--save-inputs,--save-input-data", line->save_inputs, "FILE",
            "Save the samples: JSON as Polygraphy writes it, or a folder when FILE has no extension (default: none)")
      .writes()
      .group("Saved runs");
  add_value(app, "--save-outputs,--save-results", line->save_outputs, "FILE",
            "Save what the runners give: JSON whatever the extension, .npz, or a folder when FILE has none (default: "
            "none)")
      .writes()
      .group("Saved runs");
  add_values(app, "--load-outputs,--load-results,--golden", line->load_outputs, "FILE",
             "Compare with saved runs: each is one more run behind the runners (default: none)")
      .group("Saved runs");
  line->comparison.add(app);
  line->comparison.add_pictures(app);
  add_flag(app, "--json", line->json, "Print verdicts and figures as JSON, and nothing else, on stdout")
      .group("Output");
  line->gate.add(app);
  add_message_options(app, line->messages);
  const IgnoredOptions ignored = add_ignored_options(app);
  add_footer(
      app,
      "Example: vernier run model.onnx --sim --int8 --onnxrt --data samples.npz --compare sqnr\n"
      "Example: vernier run typed.onnx --sim --load-outputs golden.json --data samples.npz\n"
      "Exit code: 0 all passed, or nothing to compare; 1 a comparison failed; 2 usage; 3 input; 4 backend; 70 our "
      "fault; 130 interrupted");

  return {&app,
          &line->messages,
          [line, command](Console& console) {
            for (const std::string& text : line->data.without_effect(
                     line->runners.any_script() || line->runners.any_process() || any_model_script(line->models) ||
                     !line->comparison.compare_script.empty() || !line->comparison.postprocess_script.empty()))
              console.warning(text);
            for (const std::string& text : line->comparison.without_effect()) console.warning(text);
            const RunOptions options = options_of(*line);
            for (const auto& path :
                 {options.save_inputs, options.save_outputs, options.save_accuracy, options.engine.save_engine}) {
              if (path.has_extension()) require_writable_file(path);
            }
            const auto start = std::chrono::steady_clock::now();
            const bool silent = line->messages.quiet > 1;
            line->gate.check();
            RunEvents events;
            if (silent && !line->json) events = [](const RunEvent&) {};
            if (!silent && !line->json) {
              ComparisonTextOptions text;
              text.color = text_options().color;
              text.detail = options.detail;
              text.verdicts_only = !options.statistics;
              events = RunText(text, [&](const std::string& part) { print_result(console, part); });
            }
            const RunResult result = run_for_gate(*line, options, console, events);
            const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
            if (silent && !line->json) return result.passed ? 0 : 1;
            print_result(console, line->json ? result.accuracy.to_json(options.compare)
                                             : last_line(result, seconds.count(), command));
            return result.passed ? 0 : 1;
          },
          ignored,
          /*spreads=*/false,
          &line->gate};
}

}  // namespace vernier::cli
