
#include "vernier/inspect.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "commands/commands.h"
#include "console/console.h"
#include "options/options.h"
#include "options/parse_values.h"
#include "options/rows.h"
#include "table/measure.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/report/scheme.h"
#include "vernier/report/text.h"
#include "vernier/scheme.h"

namespace vernier::cli {
namespace {

struct InspectLine {
  std::string model;
  std::vector<std::string> show, input_shapes, log_format;
  bool csv = false, infer_shapes = false, skip_external_data = false;
  ResultGroup result;
  std::string visual, report, display_as = "onnx";
  Texts texts;
  bool unbounded = false;
  MessageGroup messages;
};

}  // namespace

Command add_inspect(CLI::App& root) {
  auto line = std::make_shared<InspectLine>();
  CLI::App& app = add_command(command_group(root, "inspect", "Print what is in a file"), "model",
                              "Print a model's inputs, outputs, layers and formats");
  add_argument(app, "MODEL", line->model, "ONNX file, float or typed");
  add_values(app, "--show", line->show, "WHAT",
             "Print more than the summary: layers attrs weights formats (default: nothing)")
      .group("Output");
  line->result.add(app);
  add_flag(app, "--csv", line->csv, "With --show formats: print one line a layer as CSV, and nothing else, on stdout")
      .group("Output");
  add_value(app, "--display-as,--convert-to", line->display_as, "KIND",
            "Form of the text: onnx; polygraphy, as Polygraphy prints it; or trt, which prints onnx with a warning "
            "(default: onnx)")
      .group("Output");
  add_values(app, "--log-format", line->log_format, "FORMAT",
             "Polygraphy's levels; any of them means --display-as polygraphy (default: none)")
      .group("Output");
  add_flag(app, "--shape-inference", line->infer_shapes, "With --display-as polygraphy: also print inferred shapes")
      .group("Model");
  add_flag(app, "--ignore-external-data", line->skip_external_data,
           "Read no weights from other files, which may be missing; sizes that depend on them are unknown")
      .group("Model");
  add_flag(app, "--list-unbounded-dds", line->unbounded,
           "Print only the sizes that depend on data and have no upper bound")
      .group("Output");
  add_value(app, "--visual,--save-visual", line->visual, "FILE",
            "Also draw the graph: .svg or .html, drawn by Graphviz, or .dot (default: no)")
      .writes()
      .group("Output");
  add_value(app, "--report", line->report, "FILE",
            "With --visual: report.json of diagnose, to colour layers by their local error (default: by format)")
      .group("Output");
  add_row(app, table::kExternalDataDir, "Model", line->texts);
  add_values(app, "--input-shapes,--inputs", line->input_shapes, "NAME:[DIMS]",
             "Shapes of inputs, to count sizes and multiply-accumulates: x:[1,3,224,224] (default: those of the file; "
             "dynamic sizes count as 1)")
      .group("Model");
  add_message_options(app, line->messages);
  const IgnoredOptions ignored = add_ignored_options(app);
  add_footer(app, "Example: vernier inspect model model.onnx --show layers formats");

  return {
      &app, &line->messages,
      [line](Console& console) {
        const std::string form = parse_choice("--display-as", line->display_as, {"onnx", "polygraphy", "trt"});
        if (form == "trt") {
          console.warning(
              "--display-as trt shows the ONNX graph; vernier inspect engine MODEL compiles a typed file with "
              "TensorRT");
        }
        InspectOptions options;
        options.model = line->model;
        read_value(table::kExternalDataDir, line->texts, options.external_data_dir);
        const DrawOptions drawn{line->model, line->visual, line->report, options.external_data_dir};
        if (line->unbounded) {
          print_result(console, report_to_text(list_unbounded_sizes(options.model, options.external_data_dir)));
          return 0;
        }
        std::set<std::string> shows;
        for (const std::string& what : line->show) {
          shows.insert(parse_choice("--show", what, {"layers", "attrs", "weights", "formats"}));
        }
        if (line->visual.empty() && !line->report.empty()) {
          throw Error(ErrorCode::WithoutEffect, "--report colours a picture and has no effect without --visual",
                      "--visual FILE.svg");
        }
        if (!line->visual.empty()) require_writable_file(line->visual);
        const bool shows_formats = shows.contains("formats");
        if (line->csv || (line->result.json && shows_formats)) {
          if (!shows_formats || line->show.size() > 1 || line->csv == line->result.json) {
            throw Error(ErrorCode::WithoutEffect, "--csv, or --json with --show formats, prints nothing but formats",
                        "leave out the other values of --show");
          }
          const SchemeReport report = inspect_formats(options.model, options.external_data_dir);
          print_result(console, line->csv ? report_to_csv(report) : report_to_json(report));
          return 0;
        }
        const TextOptions text = line->result.values(console);
        for (auto& [name, shape] : parse_input_shapes("--input-shapes", line->input_shapes, Dims::MayBeOpen)) {
          options.input_shapes[name] = std::move(shape);
        }
        options.skip_external_data = line->skip_external_data;
        options.nodes = shows.contains("layers");
        options.attributes = shows.contains("attrs");
        options.weights = shows.contains("weights");
        if (form == "polygraphy" || (!line->log_format.empty() && !line->result.json)) {
          options.infer_shapes = line->infer_shapes;
          print_result(console, list_like_polygraphy(options));
          return 0;
        }
        const ModelInspection inspection = inspect_model(options);
        if (line->result.json) {
          if (!line->visual.empty()) draw_model(drawn, console.sinks());
          print_result(console, report_to_json(inspection));
          return 0;
        }
        std::string printed = report_to_text(inspection, text);
        if (shows_formats)
          printed += "\nformats\n" + report_to_text(inspect_formats(options.model, options.external_data_dir), text);
        if (!line->visual.empty()) {
          printed += result_to_text(draw_model(drawn, console.sinks()));
        }
        print_result(console, printed);
        return 0;
      },
      ignored};
}

}  // namespace vernier::cli
