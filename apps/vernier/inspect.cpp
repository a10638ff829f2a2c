#include <algorithm>
#include <memory>

#include "commands.h"
#include "console.h"
#include "options.h"
#include "parse_values.h"
#include "vernier/error.h"
#include "vernier/jobs.h"
#include "vernier/scheme_report.h"

namespace vernier::cli {
namespace {

struct InspectLine {
  std::string model;
  std::vector<std::string> show;
  bool csv = false;
  ResultGroup result;
  MessageGroup messages;
};

}  // namespace

Command add_inspect(CLI::App& root) {
  auto line = std::make_shared<InspectLine>();
  CLI::App* app = command_group(root, "inspect", "Print what is in a file")
                      .add_subcommand("model", "Print a model's inputs, outputs, layers and formats");
  add_argument(*app, "MODEL", line->model, "ONNX file, float or typed");
  add_values(*app, "--show", line->show, "WHAT",
             "What to print beside the summary: layers attrs weights formats (default: nothing)")
      ->group("Output");
  line->result.add(*app);
  app->add_flag("--csv", line->csv, "With --show formats: print one line a layer as CSV, and nothing else, on stdout")
      ->group("Output");
  add_message_options(*app, line->messages);
  app->footer("Example: vernier inspect model model.onnx --show layers formats");

  return {app, &line->messages, [line](Console& console) {
            InspectOptions options;
            options.model = line->model;
            for (const std::string& what : line->show) {
              options.show.push_back(parse_choice("--show", what, {"layers", "attrs", "weights", "formats"}));
            }
            const auto formats = std::find(options.show.begin(), options.show.end(), "formats");
            const bool shows_formats = formats != options.show.end();
            if (shows_formats) options.show.erase(formats);
            if (line->csv || line->result.json) {
              if (!shows_formats || !options.show.empty() || line->csv == line->result.json) {
                throw Error(ErrorKind::Usage, "--json and --csv: of inspect model they print formats alone",
                            "--show formats with one of them, and nothing else to show");
              }
              const SchemeReport report = inspect_formats(options.model);
              print_result(console, line->csv ? report_to_csv(report) : report_to_json(report));
              return 0;
            }
            const TextOptions text = line->result.values();
            std::string printed = inspect_model(options);
            if (shows_formats) printed += "\nformats\n" + report_to_text(inspect_formats(options.model), text);
            print_result(console, printed);
            return 0;
          }};
}

}  // namespace vernier::cli
