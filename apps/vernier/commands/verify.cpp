#include "vernier/report/verify.h"

#include <memory>

#include "base/file.h"
#include "commands/commands.h"
#include "console/console.h"
#include "options/engine_settings.h"
#include "options/gate_group.h"
#include "options/options.h"
#include "options/parse_values.h"
#include "options/rows.h"
#include "options/score_group.h"
#include "table/precision.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/explain_file.h"
#include "vernier/report/gate.h"
#include "vernier/report/outcome.h"
#include "vernier/report/text.h"
#include "vernier/verify.h"

namespace vernier::cli {
namespace {

struct VerifyLine {
  std::string float_model, typed_model, target = "tensorrt";
  Texts arithmetic;
  RequirementGroup requirement;
  ScoreGroup task;
  DataGroup data;
  MeasureOnGroup on;
  bool no_explain = false;
  std::string output;
  GateGroup gate;
  MessageGroup messages;
  ResultGroup result;
};

}  // namespace

Command add_verify(CLI::App& root, const std::string& command) {
  auto line = std::make_shared<VerifyLine>();
  CLI::App& app =
      add_command(root, "verify",
                  "Measure how far a typed model (Cast, Q/DQ, from any tool) is from its float model, layer by layer");
  add_argument(app, "FLOAT", line->float_model, "ONNX file, float: the reference");
  add_argument(app, "TYPED", line->typed_model, "ONNX file, typed: its Casts and Q/DQ pairs are simulated");
  line->requirement.add(app);
  line->task.add(app);
  add_value(app, "--target", line->target, "TARGET",
            "The engine that the file is for. tensorrt: if layers are in FP16 or BF16, measure with FP32 and with FP16 "
            "accumulation. openvino, onnxruntime: with FP32 accumulation (default: tensorrt)")
      .group("Arithmetic");
  add_rows(app, table::kArithmetic, line->arithmetic, "Arithmetic");
  line->data.add(app, "Samples to measure on");
  line->data.add_batch(app);
  line->on.add(app);
  line->on.add_compile(app);
  add_flag(app, "--no-explain", line->no_explain,
           "Measure only (default: for Q/DQ files, also find the pairs that do the damage, and check how engines "
           "handle them)")
      .group("Output");
  add_value(app, "-o,--output", line->output, "DIR",
            "Write report.json and report.html into this folder (default: none)")
      .writes()
      .group("Output");
  line->gate.add(app);
  line->result.add(app);
  add_message_options(app, line->messages);
  const IgnoredOptions ignored = add_ignored_options(app);
  add_footer(
      app,
      "Example: vernier verify model.onnx typed.onnx --data samples.npz --min-sqnr 20\nExample: vernier verify "
      "model.onnx quantized.onnx --data samples.npz --min-sqnr 20 -o verdict\nExample: vernier verify "
      "model.onnx typed.onnx --data samples.npz --on openvino --python venv/bin/python\nExample: vernier verify "
      "model.onnx quantized.onnx --data samples.npz --compile --python venv/bin/python\nExit code: 0 no "
      "requirement, or met; 1 missed, FLOAT is quantized, or refused; 2 usage; 3 input; 4 backend; 5 met, but in "
      "FP32; 70 internal error; 130 interrupted");

  return {&app,
          &line->messages,
          [line, command](Console& console) {
            for (const std::string& text :
                 line->data.without_effect(line->task.any_script() || line->on.on() || line->on.compiles()))
              console.warning(text);
            for (const std::string& text : line->on.without_effect(line->on.on() == MeasureOn::TensorRt))
              console.warning(text);
            ExplainFileOptions options;
            options.float_model = line->float_model;
            options.typed_model = line->typed_model;
            options.measure = line->data.values();
            line->requirement.read_into(options.measure);
            options.target = parse_choice<Target>("--target", line->target);
            options.arithmetic = arithmetic_of(line->arithmetic, options.target);
            options.task = line->task.values();
            if (line->task.given() && options.measure.requirement) {
              throw Error(ErrorCode::Contradiction, "labels, a metric script, a requirement: only one can decide",
                          "leave out the others");
            }
            options.on = line->on.on();
            options.engine = line->on.values(options.measure.data);
            options.command = command;
            const TextOptions text = line->result.values(console);
            line->gate.check();
            if (!line->output.empty()) require_writable_folder(line->output);
            options.explain = !line->no_explain;
            options.output = line->output;
            options.compile = line->on.compile(options.measure.data);
            const VerifyReport report = explain_file(options, console.sinks());
            print_result(console, line->result.json ? report_to_json(report) : report_to_text(report, text));
            line->gate.tell(gate_of(report));
            return exit_code_of(report);
          },
          ignored,
          /*spreads=*/true,
          &line->gate};
}

}  // namespace vernier::cli
