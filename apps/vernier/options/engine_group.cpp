#include "options/engine_group.h"

#include <fmt/format.h>

#include "options/parse_values.h"
#include "options/plugins_option.h"
#include "table/engine.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier::cli {

namespace {

constexpr const char* kEngineGroup = "Engine";

}  // namespace

void EngineGroup::add_choice(CLI::App& app) {
  add_rows(app, table::kEngine, texts);
  add_plugins_option(app, plugins, kEngineGroup);
}

void EngineGroup::add(CLI::App& app) {
  add_choice(app);
  add_rows(app, table::kEngineProcess, texts);
}

void EngineGroup::add_flag_to_compile(CLI::App& app, const char* what) {
  add_flag(
      app, "--compile", compile,
      fmt::format(
          "Also compile {} with the engine's own compiler, found in --python, and show the kernel of each layer", what))
      .group(kEngineGroup);
}

void EngineGroup::add_behind_compile(CLI::App& app) {
  add_flag_to_compile(app, "the output model");
  add_choice(app);
}

void EngineGroup::add_with_compile(CLI::App& app) {
  add_flag_to_compile(app, "the file");
  add(app);
}

void EngineGroup::add_confirm_on(CLI::App& app) { add_rows(app, table::kConfirm, texts); }

CompileOptions EngineGroup::values() const {
  CompileOptions options;
  read_rows(table::kEngine, texts, options);
  read_rows(table::kEngineProcess, texts, options);
  options.plugins.assign(plugins.begin(), plugins.end());
  if (options.seconds <= 0) throw Error(ErrorCode::BadValue, "--timeout must be above 0");
  return options;
}

std::optional<CompileOptions> EngineGroup::values_if_asked() const {
  if (compile) return values();
  if ((texts.given("--engine") && !confirms()) || texts.given("--compute-capability") || texts.given("--shapes")) {
    throw Error(ErrorCode::WithoutEffect, "--engine, --compute-capability and --shapes belong to --compile",
                "add --compile");
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
  const bool on_tensorrt = confirms() && confirms_on() == MeasureOn::TensorRt;
  return plugins_without_effect(plugins, compile || engine_file || on_tensorrt);
}

std::optional<MeasureOn> EngineGroup::confirms_on() const {
  if (confirms()) return parse_choice<MeasureOn>("--confirm-on", texts.last("--confirm-on"));
  if (!texts.given("--engine-device") && !texts.given("--inference-precision")) return std::nullopt;
  throw Error(ErrorCode::WithoutEffect, "--engine-device and --inference-precision belong to --confirm-on",
              "add --confirm-on ENGINE");
}

EngineRunOptions EngineGroup::run_values(const SourceOptions& scripts) const {
  EngineRunOptions options;
  CompileOptions chosen;
  read_rows(table::kEngine, texts, chosen);
  options.engine = chosen.engine;
  options.device = texts.last("--engine-device");
  options.plugins.assign(plugins.begin(), plugins.end());
  if (texts.given("--inference-precision")) {
    options.settings["inference-precision"] = texts.all("--inference-precision");
  }
  options.python = scripts.python;
  if (scripts.script_seconds > 0) options.seconds = scripts.script_seconds;
  return options;
}

}  // namespace vernier::cli
