
#include "vernier/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <memory>

#include "base/quote.h"
#include "base/text.h"
#include "commands/report_commands.h"
#include "console/console.h"
#include "options/engine_settings.h"
#include "options/gate_group.h"
#include "options/options.h"
#include "options/parse_values.h"
#include "options/task_group.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/report/gate.h"
#include "vernier/report/pipeline.h"
#include "vernier/report/text.h"

namespace vernier::cli {
namespace {

struct PipelineLine {
  std::string file, min_sqnr = "30", output;
  std::vector<std::string> stages, outputs;
  TaskGroup task;
  DataGroup data;
  GateGroup gate;
  MeasureOnGroup engine;
  MessageGroup messages;
  ResultGroup result;
};

std::vector<Stage> stages_of(const PipelineLine& line) {
  std::vector<Stage> stages;
  if (!line.file.empty()) stages = read_stages(line.file);
  for (const std::string& text : line.stages) {
    const std::size_t colon = text.find(':');
    if (colon == std::string::npos || colon == 0 || colon + 1 == text.size()) {
      throw Error(ErrorCode::BadValue, fmt::format("--stage: '{}' is not NAME:FILE", printable(text)),
                  "--stage float:model.onnx");
    }
    const std::size_t at = text.rfind('@');  // of other words behind it, a part of the file's name
    const std::optional<MeasureOn> on =
        at == std::string::npos || at <= colon + 1 ? std::nullopt : parse_word<MeasureOn>(text.substr(at + 1));
    stages.push_back({text.substr(0, colon), text.substr(colon + 1, on ? at - colon - 1 : std::string::npos), on});
  }
  return stages;
}

/// The options of the samples as they were typed, for the commands that the report proposes.
std::string data_words(const CLI::App& app) {
  std::string words;
  for (const GivenOption& option : given_options(app)) {
    if (option.group != "Data" && !option.group.starts_with("Images")) continue;
    words += (words.empty() ? "" : " ") + option.name;
    for (const std::string& value : option.values) words += " " + shell_quote(value);
  }
  return words;
}

}  // namespace

Command add_pipeline(CLI::App& root, const std::string& command) {
  auto line = std::make_shared<PipelineLine>();
  CLI::App& app = add_command(root, "pipeline", "Find the stage that loses accuracy: framework, ONNX files, or engine");
  add_argument(app, "FILE", line->file,
               "Stages as YAML or JSON: {stages: [{name: .., file: .., on: ..}]} (default: --stage alone)")
      .required(false);
  add_values(app, "--stage", line->stages, "NAME:FILE[@ENGINE]",
             "A stage, the most trusted first: saved outputs (.npz, results JSON), or an ONNX file, float or typed. "
             "ONNX files are simulated, or run on an engine: int8:int8.onnx@tensorrt, @openvino, @onnxruntime")
      .group("Stages");
  add_values(app, "--outputs", line->outputs, "NAME",
             "Tensors to compare, also intermediate ones, such as those before NMS (default: the models' outputs)")
      .group("Stages");
  add_value(app, "--min-sqnr", line->min_sqnr, "DB", "Minimum SQNR against the previous stage (default: 30)")
      .group("Stages");
  line->task.add(app);
  line->data.add(app, "Samples for stages that are models");
  line->engine.add_without_on(app, "a stage @tensorrt", "a stage @openvino");
  add_value(app, "-o,--output", line->output, "DIR",
            "Write report.json and report.html into this folder (default: print only)")
      .writes()
      .group("Output");
  line->gate.add(app);
  line->result.add(app);
  add_message_options(app, line->messages);
  const IgnoredOptions ignored = add_ignored_options(app);
  add_footer(app,
             "Example: vernier pipeline --stage torch:torch.npz --stage float:model.onnx --stage int8:quantized.onnx "
             "--data samples.npz\nExit code: 0 every stage is good; 1 a stage loses accuracy; 2 usage; 3 input; 4 "
             "backend; 70 internal error; 130 interrupted");
  return {&app,
          &line->messages,
          [line, &app, command](Console& console) {
            PipelineOptions options;
            options.stages = stages_of(*line);
            const bool on_engine =
                std::ranges::any_of(options.stages, [](const Stage& stage) { return stage.on.has_value(); });
            for (const std::string& text : line->data.without_effect(on_engine)) console.warning(text);
            const bool on_tensorrt =
                std::ranges::any_of(options.stages, [](const Stage& stage) { return stage.on == MeasureOn::TensorRt; });
            for (const std::string& text : line->engine.without_effect(on_tensorrt)) console.warning(text);
            options.measure = line->data.values();
            options.measure.outputs = line->outputs;
            options.engine = line->engine.values(options.measure.data);
            options.min_sqnr_db = parse_number("--min-sqnr", line->min_sqnr);
            if (line->task.given()) options.task = line->task.values();
            options.output = line->output;
            options.command = command;
            options.data_words = data_words(app);
            const TextOptions text = line->result.values(console);
            line->gate.check();
            const PipelineReport report = pipeline(options, console.sinks());
            print_result(console, line->result.json ? report_to_json(report) : report_to_text(report, text));
            line->gate.tell(gate_of(report));
            return report.lost_at ? 1 : 0;
          },
          ignored,
          /*spreads=*/false,
          &line->gate};
}

}  // namespace vernier::cli
