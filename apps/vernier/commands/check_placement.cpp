
#include "vernier/check_placement.h"

#include <algorithm>
#include <memory>
#include <string>

#include "commands/commands.h"
#include "console/console.h"
#include "options/engine_group.h"
#include "options/options.h"
#include "options/parse_values.h"
#include "options/rows.h"
#include "table/measure.h"
#include "vernier/report/check_placement.h"

namespace vernier::cli {
namespace {

struct PlacementLine {
  std::string model, target = "tensorrt";
  Texts texts;
  bool json = false;
  EngineGroup engine;
  MessageGroup messages;
};

}  // namespace

Command add_check_placement(CLI::App& root) {
  auto line = std::make_shared<PlacementLine>();
  CLI::App& app = add_command(command_group(root, "check", "Check models, data and saved results"), "placement",
                              "Find the Q/DQ pairs that an engine cannot fuse, and why");
  add_argument(app, "MODEL", line->model, "ONNX file with Q/DQ pairs, from any tool");
  add_value(app, "--target", line->target, "TARGET",
            "tensorrt, onnxruntime or openvino. onnxruntime: checked with its own optimizer; the others: by their "
            "documentation (default: tensorrt)")
      .group("Rules");
  add_row(app, table::kCustomOps, "Rules", line->texts);
  line->engine.add_with_compile(app);
  add_flag(app, "--json", line->json, "Print the findings as JSON, and nothing else, on stdout").group("Output");
  add_message_options(app, line->messages);
  add_footer(
      app,
      "Example: vernier check placement quantized.onnx --target onnxruntime\nExit code: 0 all pairs can be fused; 1 "
      "some cannot; 2 usage; 3 input; 4 backend, or the engine refuses the file (--compile); 70 internal error");

  return {&app, &line->messages, [line](Console& console) {
            CheckPlacementOptions options;
            options.model = line->model;
            read_value(table::kCustomOps, line->texts, options.custom_operators);
            options.target = parse_choice<Target>("--target", line->target);
            options.compile = line->engine.values_if_asked();
            for (const std::string& text : line->engine.without_effect()) console.warning(text);
            const CheckPlacementReport report = check_placement(options, console.sinks());
            print_result(console, line->json ? report_to_json(report) : report_to_text(report, text_options(console)));
            if (report.compiled && !report.compiled->refused.empty()) return 4;
            return std::ranges::all_of(report.findings, &PlacementFinding::costs_nothing) ? 0 : 1;
          }};
}

}  // namespace vernier::cli
