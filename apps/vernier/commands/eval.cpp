
#include "vernier/eval.h"

#include <memory>
#include <vector>

#include "commands/report_commands.h"
#include "console/console.h"
#include "options/engine_settings.h"
#include "options/options.h"
#include "options/rows.h"
#include "options/task_group.h"
#include "table/task.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/report/eval.h"
#include "vernier/report/text.h"

namespace vernier::cli {
namespace {

struct EvalLine {
  std::string model, against;
  std::vector<std::string> outputs;
  Texts limits;
  bool onnxruntime = false;
  MeasureOnGroup on;
  TaskGroup task;
  DataGroup data;
  MessageGroup messages;
  ResultGroup result;
};

EvalOptions options_of(const EvalLine& line, const std::string& command) {
  EvalOptions options = line.task.values();
  options.model = line.model;
  options.against = line.against;
  options.on = line.on.on();
  if (line.onnxruntime) {
    if (options.on)
      throw Error(ErrorCode::Contradiction, "--onnxrt and --on: both choose an engine", "leave out one of them");
    options.on = MeasureOn::OnnxRuntime;
  }
  read_rows(table::kLimits, line.limits, options);
  options.measure = line.data.values();
  options.measure.outputs = line.outputs;
  options.engine = line.on.values(options.measure.data);
  options.command = command;
  return options;
}

}  // namespace

Command add_eval(CLI::App& root, const std::string& command) {
  auto line = std::make_shared<EvalLine>();
  CLI::App& app = add_command(
      root, "eval",
      "Measure a network's accuracy on its task, against labels; float or typed, or two models side by side");
  add_argument(app, "MODEL", line->model, "ONNX file, float or typed (Cast, Q/DQ)");
  line->task.add(app);
  add_value(app, "--against", line->against, "MODEL2", "Measure a second model on the same samples (default: none)")
      .group("Task");
  add_values(app, "--outputs", line->outputs, "NAME",
             "Outputs that the task reads, in this order (default: all outputs of the model)")
      .group("Task");
  add_rows(app, table::kLimits, line->limits);
  add_flag(app, "--onnxrt", line->onnxruntime,
           "The same as --on onnxruntime, which does not round FP16 (default: simulate the formats of the file)")
      .group("Task");
  line->on.add(app);
  line->data.add(app, "Samples to measure on");
  line->data.add_batch(app);
  line->result.add(app);
  add_message_options(app, line->messages);
  const IgnoredOptions ignored = add_ignored_options(app);
  add_footer(app,
             "Example: vernier eval out/model.onnx --task classification --labels labels.npy --data samples.npz "
             "--against model.onnx --max-loss 0.01\nExit code: 0 no requirement, or met; 1 missed; 2 usage; 3 input; 4 "
             "backend; 70 internal error; 130 interrupted");
  return {&app, &line->messages,
          [line, command](Console& console) {
            for (const std::string& text : line->data.without_effect(line->task.any_script() || line->on.on()))
              console.warning(text);
            const EvalOptions options = options_of(*line, command);
            for (const std::string& text : line->on.without_effect(options.on == MeasureOn::TensorRt))
              console.warning(text);
            const TextOptions text = line->result.values(console);
            const EvalReport report = evaluate(options, console.sinks());
            print_result(console, line->result.json ? report_to_json(report) : report_to_text(report, text));
            return report.missed.empty() ? 0 : 1;
          },
          ignored};
}

}  // namespace vernier::cli
