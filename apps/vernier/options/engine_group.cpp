#include "options/engine_group.h"

#include <fmt/format.h>

#include "options/parse_values.h"
#include "options/plugins_option.h"
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
  add_plugins_option(app, plugins, kEngineGroup);
}

void EngineGroup::add(CLI::App& app) {
  add_choice(app);
  add_value(app, "--python", python, "PROGRAM", "Python that has the engine's packages (default: python3)")
      .group(kEngineGroup);
  add_value(app, "--timeout", timeout, "SECONDS", "Longest time for an answer of the engine (default: 600)")
      .group(kEngineGroup);
}

void EngineGroup::add_flag_to_compile(CLI::App& app, const char* what) {
  add_flag(app, "--compile", compile,
           fmt::format("Also compile {} with the engine's own compiler, found in --python, and say what became of "
                       "each layer",
                       what))
      .group(kEngineGroup);
}

void EngineGroup::add_behind_compile(CLI::App& app) {
  add_flag_to_compile(app, "what was written");
  add_choice(app);
}

void EngineGroup::add_with_compile(CLI::App& app) {
  add_flag_to_compile(app, "the file");
  add(app);
}

void EngineGroup::add_confirm_on(CLI::App& app) {
  add_value(app, "--confirm-on", confirm_on, "ENGINE",
            "End only when the written file meets the requirement on tensorrt (or TensorRT-RTX), openvino or "
            "onnxruntime themselves, too (default: in simulation)")
      .group(kEngineGroup);
  add_value(app, "--device", device, "DEVICE", "With --confirm-on openvino: CPU, GPU.1, NPU, ... (default: CPU)")
      .group(kEngineGroup);
  add_value(app, "--inference-precision", inference_precision, "TYPE",
            "With --confirm-on openvino: the type that float layers compute in, such as f32 (default: its own)")
      .group(kEngineGroup);
}

CompileOptions EngineGroup::values() const {
  CompileOptions options;
  options.engine = parse_choice<EngineChoice>("--engine", engine);
  options.compute_capability = capability;
  options.plugins.assign(plugins.begin(), plugins.end());
  for (const std::string& text : shapes) options.shapes.insert(parse_input_shape("--shapes", text));
  if (!python.empty()) options.python = python;
  if (!timeout.empty()) {
    options.seconds = parse_number("--timeout", timeout);
    if (options.seconds <= 0) throw Error(ErrorKind::Usage, "--timeout: must be above 0");
  }
  return options;
}

std::optional<CompileOptions> EngineGroup::values_if_asked() const {
  if (compile) return values();
  if ((engine != "any" && confirm_on.empty()) || !capability.empty() || !shapes.empty()) {
    throw Error(ErrorKind::Usage, "--engine, --compute-capability and --shapes belong to --compile", "add --compile");
  }
  return std::nullopt;
}

std::optional<CompileOptions> EngineGroup::values_if_asked(const SourceOptions& scripts) const {
  std::optional<CompileOptions> options = values_if_asked();
  if (options) {
    options->python = scripts.python;
    if (scripts.script_seconds > 0) options->seconds = scripts.script_seconds;
  }
  return options;
}

std::vector<std::string> EngineGroup::without_effect(bool engine_file) const {
  const bool confirms = !confirm_on.empty() && confirms_on() == MeasureOn::TensorRt;
  return plugins_without_effect(plugins, compile || engine_file || confirms);
}

std::optional<MeasureOn> EngineGroup::confirms_on() const {
  if (!confirm_on.empty()) return parse_choice<MeasureOn>("--confirm-on", confirm_on);
  if (device.empty() && inference_precision.empty()) return std::nullopt;
  throw Error(ErrorKind::Usage, "--device and --inference-precision belong to --confirm-on", "add --confirm-on ENGINE");
}

EngineRunOptions EngineGroup::run_values(const SourceOptions& scripts) const {
  EngineRunOptions options;
  options.engine = parse_choice<EngineChoice>("--engine", engine);
  options.device = device;
  options.plugins.assign(plugins.begin(), plugins.end());
  if (!inference_precision.empty()) options.settings["inference-precision"] = {inference_precision};
  options.python = scripts.python;
  if (scripts.script_seconds > 0) options.seconds = scripts.script_seconds;
  return options;
}

}  // namespace vernier::cli
