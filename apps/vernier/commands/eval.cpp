
#include "vernier/eval.h"

#include <memory>
#include <vector>

#include "commands/report_commands.h"
#include "console/console.h"
#include "options/engine_settings.h"
#include "options/options.h"
#include "options/parse_values.h"
#include "options/task_group.h"
#include "vernier/error.h"
#include "vernier/report/eval.h"
#include "vernier/report/text.h"

namespace vernier::cli {
namespace {

struct EvalLine {
  std::string model, against, min, max, max_loss;
  std::vector<std::string> outputs;
  bool onnxruntime = false;
  MeasureOnGroup on;
  TaskGroup task;
  DataGroup data;
  MessageGroup messages;
  ResultGroup result;
};

std::optional<double> optional_number(const char* option, const std::string& text) {
  if (text.empty()) return std::nullopt;
  return parse_number(option, text);
}

EvalOptions options_of(const EvalLine& line, const std::string& command) {
  EvalOptions options = line.task.values();
  options.model = line.model;
  options.against = line.against;
  options.on = line.on.on();
  if (line.onnxruntime) {
    if (options.on) throw Error(ErrorKind::Usage, "--onnxrt and --on: where shall it run?", "leave one out");
    options.on = MeasureOn::OnnxRuntime;
  }
  options.min = optional_number("--min", line.min);
  options.max = optional_number("--max", line.max);
  options.max_loss = optional_number("--max-loss", line.max_loss);
  options.measure = line.data.values();
  options.measure.outputs = line.outputs;
  options.engine = line.on.values(options.measure.data);
  options.command = command;
  return options;
}

}  // namespace

Command add_eval(CLI::App& root, const std::string& command) {
  auto line = std::make_shared<EvalLine>();
  CLI::App& app =
      add_command(root, "eval",
                  "Measure what a network is worth for its task, against labels: float or typed, or two side by side");
  add_argument(app, "MODEL", line->model, "ONNX file, float or typed (Cast, Q/DQ)");
  line->task.add(app);
  add_value(app, "--against", line->against, "MODEL2", "Measure a second model on the same samples (default: none)")
      .group("Task");
  add_values(app, "--outputs", line->outputs, "NAME", "Outputs to look at, in this order (default: all of the model)")
      .group("Task");
  const char* const requirement = "Requirement (on the first figure; default: none)";
  add_value(app, "--min", line->min, "V", "At least V; shares are 0 to 1").group(requirement);
  add_value(app, "--max", line->max, "V", "At most V, for perplexity").group(requirement);
  add_value(app, "--max-loss", line->max_loss, "V", "With --against: worse than there by at most V").group(requirement);
  add_flag(app, "--onnxrt", line->onnxruntime,
           "The same as --on onnxruntime, whose kernels do not round float16 (default: simulate what the file says)")
      .group("Task");
  line->on.add(app);
  line->data.add(app, "Samples to measure on");
  line->data.add_batch(app);
  line->result.add(app);
  add_message_options(app, line->messages);
  const IgnoredOptions ignored = add_ignored_options(app);
  add_footer(
      app,
      "Example: vernier eval out/model.onnx --task classification --labels labels.npy --data samples.npz --against "
      "model.onnx --max-loss 0.01\n"
      "Exit code: 0 no requirement, or met; 1 missed; 2 usage; 3 input; 4 backend; 70 our fault; 130 interrupted");
  return {&app, &line->messages,
          [line, command](Console& console) {
            for (const std::string& text : line->data.without_effect(line->task.any_script() || line->on.on()))
              console.warning(text);
            const EvalOptions options = options_of(*line, command);
            for (const std::string& text : line->on.without_effect(options.on == MeasureOn::TensorRt))
              console.warning(text);
            const TextOptions text = line->result.values();
            const EvalReport report = evaluate(options, console.sinks());
            print_result(console, line->result.json ? report_to_json(report) : report_to_text(report, text));
            return report.missed.empty() ? 0 : 1;
          },
          ignored};
}

}  // namespace vernier::cli
