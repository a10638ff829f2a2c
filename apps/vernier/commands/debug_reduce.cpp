#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "commands/commands.h"
#include "console/console.h"
#include "options/check_options.h"
#include "options/engine_settings.h"
#include "options/external_data_options.h"
#include "options/options.h"
#include "options/parse_values.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/format.h"
#include "vernier/reduce.h"
#include "vernier/report/reduce.h"

namespace vernier::cli {
namespace {

struct ReduceLine {
  std::string model, output, min_good, mode, check_sim, min_sqnr = "20", target = "tensorrt";
  std::vector<std::string> input_shapes;
  bool no_inputs = false, no_outputs = false, json = false;
  ExternalDataGroup external_data;
  DataGroup data;
  CheckGroup check;
  MeasureOnGroup engine;
  MessageGroup messages;
};

ReduceOptions options_of(const ReduceLine& line, const std::string& command) {
  if (line.output.empty() && line.min_good.empty()) {
    throw Error(ErrorCode::BadValue, "vernier debug reduce: -o is missing", "-o reduced.onnx");
  }
  if (line.no_inputs && line.no_outputs) {
    throw Error(ErrorCode::BadValue, "--no-reduce-inputs and --no-reduce-outputs: nothing is left to reduce",
                "leave out one of them");
  }
  const bool simulated = !line.check_sim.empty();
  if (simulated && line.check.given()) {
    throw Error(ErrorCode::BadValue, "--check-sim and --check: only one can decide", "leave out one of them");
  }
  ReduceOptions options;
  options.model = line.model;
  options.output = line.output;
  options.min_good = line.min_good;
  options.mode = !line.mode.empty() ? parse_choice<ReduceMode>("--mode", line.mode)
                 : simulated        ? ReduceMode::Ddmin
                                    : ReduceMode::Bisect;
  options.reduce_inputs = !line.no_inputs;
  options.reduce_outputs = !line.no_outputs;
  for (const std::string& text : line.input_shapes) {
    options.input_shapes.insert(parse_open_shape("--model-input-shapes", text));
  }
  options.external_data = line.external_data.values();
  options.measure = line.data.values();
  options.check = line.check.values(simulated);
  if (simulated) {
    if (!options.check.load_replay.empty()) {
      throw Error(ErrorCode::BadValue, "--load-debug-replay belongs to --check; --check-sim always measures anew");
    }
    SimulatedCheck& check = options.simulated.emplace();
    check.low = parse_format_name("--check-sim", line.check_sim);
    check.on = line.engine.on();
    check.engine = line.engine.values(options.measure.data);
    if (check.low == Format::Float32 && !check.on) {
      throw Error(ErrorCode::BadValue, "--check-sim float32: float32 is the reference of the check",
                  "int8 or float16; or --on ENGINE, to check the engine's float32");
    }
    check.target = parse_choice<Target>("--target", line.target);
    check.min_sqnr_db = parse_number("--min-sqnr", line.min_sqnr);
  }
  if (!simulated && line.engine.on()) {
    throw Error(ErrorCode::BadValue, "--on belongs to --check-sim", "--check-sim int8 --on tensorrt");
  }
  options.command = command;
  return options;
}

}  // namespace

Command add_debug_reduce(CLI::App& root, const std::string& command) {
  auto line = std::make_shared<ReduceLine>();
  CLI::App& app = add_command(command_group(root, "debug", "Find where a model goes wrong"), "reduce",
                              "Reduce a failing model to the smallest part that still fails");
  add_argument(app, "MODEL", line->model, "ONNX file");
  add_value(app, "-o,--output", line->output, "FILE",
            "File for the smallest bad model, or for the whole model if nothing fails (required without --min-good)")
      .writes()
      .group("Output");
  add_value(app, "--min-good,--minimal-good", line->min_good, "FILE",
            "File for a good model of nearly the same size (default: not written)")
      .writes()
      .group("Output");
  add_flag(app, "--json", line->json, "Print the report as JSON, and nothing else, on stdout").group("Output");
  line->external_data.add(app);
  add_value(app, "--mode", line->mode, "MODE",
            "How to reduce. bisect: with the fewest checks; linear: node by node; ddmin: until each node is needed, "
            "then to smaller dimensions (default: bisect; ddmin with --check-sim)")
      .group("Reduction");
  add_flag(app, "--no-reduce-inputs", line->no_inputs, "Only move the outputs to earlier tensors").group("Reduction");
  add_flag(app, "--no-reduce-outputs", line->no_outputs, "Only move the inputs to later tensors").group("Reduction");
  add_values(app, "--model-input-shapes,--model-inputs", line->input_shapes, "NAME:[D0,D1]",
             "Fix the shape of inputs first (default: as in the file)")
      .group("Reduction");
  line->data.add(app, "Samples for --check-sim, and for the values of tensors that are frozen");
  add_value(app, "--check-sim", line->check_sim, "FORMAT",
            "Check without a program: simulate the part in FORMAT, and compare it with float32 (default: --check)")
      .group("Check");
  add_value(
      app, "--min-sqnr", line->min_sqnr, "DB",
      "With --check-sim: minimum SQNR of each output, 10 log10(signal / noise) over all samples, in dB (default: 20)")
      .group("Check");
  add_value(app, "--target", line->target, "TARGET",
            "With --check-sim: the engine that FORMAT is simulated for, tensorrt, onnxruntime or openvino (default: "
            "tensorrt)")
      .group("Check");
  line->engine.add(app);
  line->check.add(app, "polygraphy_debug.onnx");
  add_message_options(app, line->messages);
  const IgnoredOptions ignored = add_ignored_options(app);
  add_footer(app,
             "Example: vernier debug reduce model.onnx -o reduced.onnx --check-sim int8 --min-sqnr 15 --data "
             "samples.npz\nExample: vernier debug reduce model.onnx -o reduced.onnx --check python check.py "
             "polygraphy_debug.onnx\nExit code: 0 reduced, or nothing fails; 1 no verdict on the whole model, or "
             "unstable; 2 usage; 3 input; 4 backend; 70 internal error; 130 interrupted");

  return {&app, &line->messages,
          [line, command](Console& console) {
            const ReduceOptions options = options_of(*line, command);
            for (const std::string& text : line->engine.without_effect(line->engine.on() == MeasureOn::TensorRt))
              console.warning(text);
            if (!options.output.empty()) require_writable_file(options.output);
            if (!options.min_good.empty()) require_writable_file(options.min_good);
            const ReduceReport report = debug_reduce(options, console.sinks(), check_sinks(console, line->json));
            print_result(console, line->json ? report_to_json(report) : report_to_text(report, text_options(console)));
            return report.not_judged.empty() && report.unstable.empty() ? 0 : 1;
          },
          ignored};
}

}  // namespace vernier::cli
