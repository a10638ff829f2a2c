#include "vernier/inspect_engine.h"

#include <memory>
#include <string>
#include <vector>

#include "commands/commands.h"
#include "console/console.h"
#include "options/options.h"
#include "options/parse_values.h"
#include "vernier/engine.h"
#include "vernier/error.h"
#include "vernier/report/engine.h"

namespace vernier::cli {
namespace {

struct EngineLine {
  std::string file, model, engine = "any", capability, python = "python3", timeout = "600";
  std::vector<std::string> shapes;
  ResultGroup result;
  MessageGroup messages;
};

}  // namespace

Command add_inspect_engine(CLI::App& root) {
  auto line = std::make_shared<EngineLine>();
  CLI::App& app = add_command(command_group(root, "inspect", "Print what is in a file"), "engine",
                              "Compile a model with an engine's own compiler, and say what became of each layer");
  add_argument(app, "FILE", line->file,
               "ONNX file, which is compiled now, without a GPU where the engine can; or layer information as JSON, of "
               "trtexec --exportLayerInfo or of TensorRT's engine inspector");
  add_value(app, "--model", line->model, "MODEL", "With layer information: the ONNX file that it was made of")
      .group("Engine");
  add_value(app, "--engine", line->engine, "ENGINE",
            "tensorrt, tensorrt-rtx, or any: the first that is there and can compile (default: any)")
      .group("Engine");
  add_value(app, "--compute-capability", line->capability, "X.Y",
            "What to compile for, such as 8.9 (default: the GPU that is here, else 8.9)")
      .group("Engine");
  add_values(app, "--shapes", line->shapes, "NAME:SHAPE",
             "Shapes of inputs with open dimensions, such as x:[1,3,224,224] (default: open dimensions are 1)")
      .group("Engine");
  add_value(app, "--python", line->python, "PROGRAM", "Python that has the engine's packages (default: python3)")
      .group("Engine");
  add_value(app, "--timeout", line->timeout, "SECONDS", "Longest time for an answer of the engine (default: 600)")
      .group("Engine");
  line->result.add(app);
  add_message_options(app, line->messages);
  add_footer(app,
             "Example: vernier inspect engine typed.onnx --compute-capability 8.9\n"
             "Exit code: 0 compiled; 2 usage; 3 input; 4 no engine is there, or it refuses the file; 70 our fault");

  return {&app, &line->messages, [line](Console& console) {
            InspectEngineOptions options;
            options.file = line->file;
            options.model = line->model;
            options.engine = parse_choice<EngineChoice>("--engine", line->engine);
            options.compute_capability = line->capability;
            for (const std::string& text : line->shapes) options.shapes.insert(parse_input_shape("--shapes", text));
            options.python = line->python;
            options.seconds = parse_number("--timeout", line->timeout);
            if (options.seconds <= 0) throw Error(ErrorKind::Usage, "--timeout: must be above 0");
            const EngineReport report = inspect_engine(options, console.sinks());
            print_result(console,
                         line->result.json ? report_to_json(report) : report_to_text(report, line->result.values()));
            return 0;
          }};
}

}  // namespace vernier::cli
