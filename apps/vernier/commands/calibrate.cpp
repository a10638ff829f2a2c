
#include "vernier/calibrate.h"

#include <memory>

#include "commands/commands.h"
#include "console/console.h"
#include "options/options.h"
#include "options/parse_values.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/report/calibrate.h"
#include "vernier/report/text.h"

namespace vernier::cli {
namespace {

struct CalibrateLine {
  std::string model, output, form;
  PrecisionGroup precision;
  DataGroup data;
  ResultGroup result;
  MessageGroup messages;
};

CalibrateOptions options_of(const CalibrateLine& line, const std::string& command) {
  CalibrateOptions options;
  options.model = line.model;
  options.output = line.output;
  if (!line.form.empty()) {
    if (line.output.empty())
      throw Error(ErrorCode::WithoutEffect, "--ranges-format: no file is written", "-o ranges.json");
    options.output_form = parse_choice<RangesForm>("--ranges-format", line.form);
  }
  options.measure = line.data.values();
  options.precision = line.precision.values();
  options.command = command;
  return options;
}

}  // namespace

Command add_calibrate(CLI::App& root, const std::string& command) {
  auto line = std::make_shared<CalibrateLine>();
  CLI::App& app = add_command(root, "calibrate",
                              "Calibrate the ranges of quantized tensors, and check whether the samples were enough");
  add_argument(app, "MODEL", line->model, "ONNX file, float");
  line->precision.add(app, "--method,--calibration-method METHOD");
  line->data.add(app, "Samples to calibrate on");
  line->data.add_calibration(app);
  line->data.add_batch(app);
  line->data.add_no_cache(app);
  add_value(app, "-o,--output", line->output, "FILE",
            "File for the ranges: JSON, or TensorRT's text under *.cache or *.calib (default: none)")
      .writes()
      .group("Output");
  add_value(app, "--ranges-format", line->form, "FORM",
            "Format of the file: vernier, tensorrt (symmetric scales only), or onnxruntime (for calibration_cache_path "
            "of its quantize_static) (default: by the name)")
      .group("Output");
  line->result.add(app);
  add_message_options(app, line->messages);
  const IgnoredOptions ignored = add_ignored_options(app);
  add_footer(app,
             "Without a low format, ranges are for INT8.\nExample: vernier calibrate model.onnx --data samples.npz "
             "--method entropy -o calib.cache\nExit code: 0 done, whether or not the samples were enough; 2 usage; 3 "
             "input; 4 backend; 70 internal error; 130 interrupted");

  return {&app, &line->messages,
          [line, command](Console& console) {
            for (const std::string& text : line->data.without_effect(line->precision.any_script()))
              console.warning(text);
            const CalibrateOptions options = options_of(*line, command);
            const TextOptions text = line->result.values(console);
            if (!options.output.empty()) require_writable_file(options.output);
            const CalibrateReport report = calibrate(options, console.sinks());
            print_result(console, line->result.json ? report_to_json(report) : report_to_text(report, text));
            return 0;
          },
          ignored,
          /*spreads=*/true};
}

}  // namespace vernier::cli
