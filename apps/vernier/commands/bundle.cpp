
#include "vernier/bundle.h"

#include <fmt/format.h>

#include <memory>

#include "base/text.h"
#include "commands/report_commands.h"
#include "console/console.h"
#include "options/options.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier::cli {
namespace {

struct BundleLine {
  std::string model, report, layer, output = "bundle.zip";
  bool json = false;
  DataGroup data;
  MessageGroup messages;
};

}  // namespace

Command add_bundle(CLI::App& root) {
  auto line = std::make_shared<BundleLine>();
  CLI::App& app = add_command(root, "bundle", "Pack a failing layer, its inputs and its figures into one file to send");
  add_argument(app, "MODEL", line->model, "The diagnosed ONNX file, float");
  add_value(app, "--report", line->report, "JSON", "report.json of the diagnosis").group("Bundle");
  add_value(app, "--layer", line->layer, "NAME", "The layer (default: the most damaging one of the report)")
      .group("Bundle");
  add_value(app, "-o,--output", line->output, "FILE.zip", "The file to write (default: bundle.zip)")
      .writes()
      .group("Bundle");
  line->data.add(app, "Samples to record the layer's inputs on");
  add_flag(app, "--json", line->json, "Print what was packed as JSON, and nothing else, on stdout").group("Output");
  add_message_options(app, line->messages);
  const IgnoredOptions ignored = add_ignored_options(app);
  add_footer(app,
             "Example: vernier bundle model.onnx --report out/report.json --data samples.npz --samples 2 -o "
             "conv1.zip\nExit code: 0 done; 2 usage; 3 input; 4 backend; 70 internal error; 130 interrupted");
  return {&app, &line->messages,
          [line](Console& console) {
            for (const std::string& text : line->data.without_effect()) console.warning(text);
            if (line->report.empty()) {
              throw Error(ErrorCode::MissingArgument, "--report is missing: it names the failing layers",
                          "vernier diagnose MODEL ... -o out writes out/report.json");
            }
            BundleOptions options;
            options.model = line->model;
            options.report = line->report;
            options.layer = line->layer;
            options.output = line->output;
            options.measure = line->data.values();
            require_writable_file(options.output);
            const BundleResult result = bundle_layer(options, console.sinks());
            if (line->json) {
              print_result(console, result_to_json(result));
              return 0;
            }
            print_result(console, fmt::format("{}: layer '{}' in {}\nUnpack it, then reproduce the error with:\n  {}\n",
                                              printable(result.output.string()), printable(result.layer),
                                              plural(result.files.size(), "file"), result.command));
            return 0;
          },
          ignored};
}

}  // namespace vernier::cli
