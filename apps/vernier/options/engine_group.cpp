#include "options/engine_group.h"

#include "options/parse_values.h"
#include "vernier/error.h"

namespace vernier::cli {

namespace {

constexpr const char* kEngineGroup = "Engine";

}  // namespace

void EngineGroup::add_choice(CLI::App& app) {
  add_value(app, "--engine", engine, "ENGINE",
            "tensorrt, tensorrt-rtx, or any: the first that is there and can compile (default: any)")
      .group(kEngineGroup);
  add_value(app, "--compute-capability", capability, "X.Y",
            "What to compile for, such as 8.9 (default: the GPU that is here, else 8.9)")
      .group(kEngineGroup);
  add_values(app, "--shapes", shapes, "NAME:SHAPE",
             "Shapes of inputs with open dimensions, such as x:[1,3,224,224] (default: open dimensions are 1)")
      .group(kEngineGroup);
}

void EngineGroup::add(CLI::App& app) {
  add_choice(app);
  add_value(app, "--python", python, "PROGRAM", "Python that has the engine's packages (default: python3)")
      .group(kEngineGroup);
  add_value(app, "--timeout", timeout, "SECONDS", "Longest time for an answer of the engine (default: 600)")
      .group(kEngineGroup);
}

void EngineGroup::add_behind_compile(CLI::App& app) {
  add_flag(app, "--compile", compile,
           "Also compile what was written with the engine's own compiler, found in --python, and say what became of "
           "each layer")
      .group(kEngineGroup);
  add_choice(app);
}

CompileOptions EngineGroup::values() const {
  CompileOptions options;
  options.engine = parse_choice<EngineChoice>("--engine", engine);
  options.compute_capability = capability;
  for (const std::string& text : shapes) options.shapes.insert(parse_input_shape("--shapes", text));
  if (!python.empty()) options.python = python;
  if (!timeout.empty()) {
    options.seconds = parse_number("--timeout", timeout);
    if (options.seconds <= 0) throw Error(ErrorKind::Usage, "--timeout: must be above 0");
  }
  return options;
}

std::optional<CompileOptions> EngineGroup::values_if_asked(const SourceOptions& scripts) const {
  if (compile) {
    CompileOptions options = values();
    options.python = scripts.python;
    if (scripts.script_seconds > 0) options.seconds = scripts.script_seconds;
    return options;
  }
  if (engine != "any" || !capability.empty() || !shapes.empty()) {
    throw Error(ErrorKind::Usage, "--engine, --compute-capability and --shapes belong to --compile", "add --compile");
  }
  return std::nullopt;
}

}  // namespace vernier::cli
