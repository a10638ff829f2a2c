#include <memory>

#include "commands.h"
#include "console.h"
#include "options.h"
#include "parse_values.h"
#include "vernier/jobs.h"

namespace vernier::cli {
namespace {

struct InspectLine {
  std::string model;
  std::vector<std::string> show;
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
  add_message_options(*app, line->messages);
  app->footer("Example: vernier inspect model model.onnx --show layers formats");

  return {app, &line->messages, [line](Console& console) {
            InspectOptions options;
            options.model = line->model;
            for (const std::string& what : line->show) {
              options.show.push_back(parse_choice("--show", what, {"layers", "attrs", "weights", "formats"}));
            }
            print_result(console, inspect_model(options));
            return 0;
          }};
}

}  // namespace vernier::cli
