#include "vernier/inspect_engine.h"

#include <memory>
#include <string>

#include "commands/commands.h"
#include "console/console.h"
#include "options/engine_group.h"
#include "options/options.h"
#include "vernier/report/engine.h"

namespace vernier::cli {
namespace {

struct EngineLine {
  std::string file, model;
  EngineGroup engine;
  ResultGroup result;
  MessageGroup messages;
};

}  // namespace

Command add_inspect_engine(CLI::App& root) {
  auto line = std::make_shared<EngineLine>();
  CLI::App& app = add_command(command_group(root, "inspect", "Print what is in a file"), "engine",
                              "Compile a model with an engine's own compiler, and show the kernel of each layer");
  add_argument(app, "FILE", line->file,
               "ONNX file to compile, without a GPU if the engine supports that; or layer information as JSON, from "
               "trtexec --exportLayerInfo or TensorRT's engine inspector");
  add_value(app, "--model", line->model, "MODEL", "With layer information: the ONNX file that was compiled")
      .group("Engine");
  line->engine.add(app);
  line->result.add(app);
  add_message_options(app, line->messages);
  add_footer(app,
             "Example: vernier inspect engine typed.onnx --compute-capability 8.9\nExit code: 0 compiled; 2 usage; 3 "
             "input; 4 no engine was found, or it refuses the file; 70 internal error");

  return {&app, &line->messages, [line](Console& console) {
            InspectEngineOptions options;
            options.file = line->file;
            options.model = line->model;
            options.compile = line->engine.values();
            const EngineReport report = inspect_engine(options, console.sinks());
            print_result(console, line->result.json ? report_to_json(report)
                                                    : report_to_text(report, line->result.values(console)));
            return 0;
          }};
}

}  // namespace vernier::cli
