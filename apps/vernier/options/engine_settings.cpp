#include "options/engine_settings.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <filesystem>
#include <functional>
#include <map>
#include <sstream>
#include <utility>

#include "options/parse_values.h"
#include "options/plugins_option.h"
#include "table/engine.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier::cli {
namespace {

const char* const kEngineFound = "Engine (found in --python)";
const char* const kRunnersEngine = "Engine (for --trt and --openvino on a real engine)";

struct Setting {
  const char* name;
  const char* value;  // nullptr: a flag
  const char* help;   // nullptr: hidden, for those who know it from other programs
  bool many = false, writes = false;
};

constexpr std::array<Setting, 32> kSettings{{
    {"builder-optimization-level", "N", "0 to 5: how long the builder looks for kernels (default: its own)"},
    {"pool-limit", "POOL:SIZE", "Memory limit of a build, such as workspace:1G (default: TensorRT's choice)", true},
    {"memory-pool-limit", "", nullptr, true},
    {"tactic-sources", "NAME", "Libraries to take kernels from (default: TensorRT's choice)", true},
    {"load-timing-cache", "FILE", "Read kernel times of an earlier build (default: none)"},
    {"save-timing-cache", "FILE", "Write the kernel times of this build (default: not written)", false, true},
    {"load-tactics", "FILE",
     "TensorRT 10: read the implementation of each layer from another build (default: the builder chooses)"},
    {"save-tactics", "FILE", "TensorRT 10: write the implementations of this build as JSON (default: not written)",
     false, true},
    {"load-tactic-replay", "", nullptr},
    {"save-tactic-replay", "", nullptr, false, true},
    {"trt-config-script", "FILE.py[:FUNC]",
     "Script with load_config(builder, network), which returns the builder's configuration, instead of these options "
     "(default: none)"},
    {"trt-config-postprocess-script", "FILE.py[:FUNC]",
     "Script with postprocess_config(builder, network, config), which edits the configuration (default: none)"},
    {"trt-cpps", "", nullptr},
    {"hardware-compatibility-level", "LEVEL",
     "GPUs that the engine runs on: none, ampere_plus or same_compute_capability (default: none)"},
    {"version-compatible", nullptr, "Build an engine that newer releases can load"},
    {"inference-precision", "TYPE",
     "OpenVINO: the type in which float layers compute, such as f32 (default: OpenVINO's choice, bf16 on some CPUs)"},
    {"max-aux-streams", "", nullptr},
    {"tiling-optimization-level", "", nullptr},
    {"runtime-platform", "", nullptr},
    {"engine-capability", "", nullptr},
    {"maxTactics", "", nullptr},
    {"preview-features", "", nullptr, true},
    {"allow-gpu-fallback", nullptr, nullptr},
    {"direct-io", nullptr, nullptr},
    {"disable-compilation-cache", nullptr, nullptr},
    {"error-on-timing-cache-miss", nullptr, nullptr},
    {"exclude-lean-runtime", nullptr, nullptr},
    {"refittable", nullptr, nullptr},
    {"sparse-weights", nullptr, nullptr},
    {"strip-plan", nullptr, nullptr},
    {"weight-streaming", nullptr, nullptr},
    {"noTF32", nullptr, nullptr},
}};

void read_shapes(const char* option, const std::vector<std::string>& texts, std::map<std::string, ShapeRange>& ranges,
                 Shape ShapeRange::*end) {
  for (auto& [name, shape] : parse_input_shapes(option, texts)) ranges[name].*end = std::move(shape);
}

}  // namespace

void EngineSettingsGroup::add(CLI::App& app) {
  add_value(app, "--engine", engine_, "ENGINE",
            "Engine of --trt: tensorrt, tensorrt-rtx, or any: the first that can run (default: any)")
      .group(kRunnersEngine);
  for (const Setting& setting : kSettings) {
    const std::string name = setting.name;
    Option option;
    if (setting.value == nullptr) {
      option = add_flag(
          app, "--" + name, [this, name] { settings_[name] = {}; }, setting.help ? setting.help : "");
    } else {
      option = add_values(
          app, "--" + name, [this, name](const std::vector<std::string>& values) { settings_[name] = values; },
          setting.value, setting.help ? setting.help : "");
      // None is fine too: --tactic-sources alone allows no library.
      option.values(setting.many ? 0 : 1, setting.many ? kMostValues : 1);
    }
    option.group(setting.help ? kRunnersEngine : "");
    if (setting.writes) option.writes();
  }
  add_value(app, "--save-engine", save_engine_, "FILE", "File for the engine of --trt (default: not written)")
      .writes()
      .group(kRunnersEngine);
  add_plugins_option(app, plugins_, kRunnersEngine);
  const auto shapes = [&](const char* name, std::vector<std::string>& values, const char* help) {
    add_values(app, name, values, "NAME:SHAPE", help).group(kRunnersEngine);
  };
  shapes("--trt-min-shapes", min_, "Smallest shapes of inputs with dynamic dimensions (default: those of the samples)");
  shapes(
      "--trt-opt-shapes", opt_,
      "Usual shapes of inputs with dynamic dimensions, such as x:[8,3,224,224] (default: those of the first sample)");
  shapes("--trt-max-shapes", max_, "Largest shapes of inputs with dynamic dimensions (default: those of the samples)");
}

void EngineSettingsGroup::add_workspace(CLI::App& app, const std::string& unit) {
  add_value(
      app, "--workspace",
      [this, unit](const std::string& size) {
        const bool bare = std::isdigit(static_cast<unsigned char>(size.back())) != 0;
        settings_["pool-limit"].push_back("workspace:" + size + (bare ? unit : ""));
      },
      "", "")
      .group("");
}

void EngineSettingsGroup::add_words_of_trtexec(CLI::App& app) {
  add_workspace(app, "M");
  const auto values = [&](const char* name, const std::function<void(const std::vector<std::string>&)>& given) {
    add_values(app, name, given).group("");
  };
  add_values(app, "--minShapes", min_, "", "").group("");
  add_values(app, "--optShapes", opt_, "", "").group("");
  add_values(app, "--maxShapes", max_, "", "").group("");
  add_value(app, "--saveEngine", save_engine_, "", "").writes().group("");
  add_value(
      app, "--builderOptimizationLevel",
      [this](const std::string& level) { settings_["builder-optimization-level"] = {level}; }, "", "")
      .group("");
  add_value(
      app, "--timingCacheFile",
      [this](const std::string& file) {
        if (std::filesystem::exists(file)) settings_["load-timing-cache"] = {file};
        settings_["save-timing-cache"] = {file};
      },
      "", "")
      .writes()
      .group("");
  values("--memPoolSize", [this](const std::vector<std::string>& texts) {
    std::vector<std::string>& pools = settings_["pool-limit"];
    for (const std::string& text : texts) {
      std::istringstream list(text);
      for (std::string pool; std::getline(list, pool, ',');) {
        // A number alone is mebibytes there, and bytes here.
        if (!pool.empty() && std::isdigit(static_cast<unsigned char>(pool.back())) != 0) pool += 'M';
        if (!pool.empty() && (pool.back() == 'B' || pool.back() == 'b')) pool.pop_back();
        pools.push_back(pool);
      }
    }
  });
}

EngineRunOptions EngineSettingsGroup::values() const {
  EngineRunOptions options;
  options.engine = parse_choice<EngineChoice>("--engine", engine_);
  options.settings = settings_;
  options.save_engine = save_engine_;
  options.plugins.assign(plugins_.begin(), plugins_.end());
  read_shapes("--trt-min-shapes", min_, options.shapes, &ShapeRange::min);
  read_shapes("--trt-opt-shapes", opt_, options.shapes, &ShapeRange::opt);
  read_shapes("--trt-max-shapes", max_, options.shapes, &ShapeRange::max);
  for (auto& [name, range] : options.shapes) {
    // As in Polygraphy: what is not given is as what is, the usual shape first.
    const Shape& given = !range.opt.empty() ? range.opt : !range.max.empty() ? range.max : range.min;
    const Shape usual = given;
    for (Shape* end : {&range.min, &range.opt, &range.max}) {
      if (end->empty()) *end = usual;
    }
  }
  return options;
}

void MeasureOnGroup::add(CLI::App& app) {
  add_row(app, table::kMeasureOn, kEngineFound, texts_);
  add_without_on(app, "--on tensorrt", "--on openvino");
}

void MeasureOnGroup::add_compile(CLI::App& app) {
  add_flag(
      app, "--compile", compile_,
      "Also compile TYPED with the compiler of --target's engine, found in --python, and show the kernel of each layer")
      .group(kEngineFound);
  add_value(
      app, "--compute-capability", capability_, "X.Y",
      "With --compile: compute capability to compile for, such as 8.9 (default: that of this machine's GPU, or 8.9)")
      .group(kEngineFound);
  add_values(app, "--shapes", shapes_, "NAME:SHAPE",
             "With --compile: shapes of inputs with dynamic dimensions, such as x:[1,3,224,224] (default: those of the "
             "first sample)")
      .group(kEngineFound);
}

void MeasureOnGroup::add_without_on(CLI::App& app, const std::string& on_tensorrt, const std::string& on_openvino) {
  add_value(app, "--engine", engine_, "ENGINE",
            fmt::format("With {}: tensorrt, tensorrt-rtx, or any: the first that can run (default: any)", on_tensorrt))
      .group(kEngineFound);
  add_value(app, "--engine-device", device_, "DEVICE",
            fmt::format("With {}: CPU, GPU.1, NPU, ... (default: CPU)", on_openvino))
      .group(kEngineFound);
  add_value(app, "--inference-precision", precision_, "TYPE",
            fmt::format("With {}: the type in which float layers compute, such as f32 (default: OpenVINO's choice, "
                        "bf16 on some CPUs)",
                        on_openvino))
      .group(kEngineFound);
  add_plugins_option(app, plugins_, kEngineFound);
}

std::vector<std::string> MeasureOnGroup::without_effect(bool tensorrt) const {
  return plugins_without_effect(plugins_, tensorrt || compile_);
}

std::optional<MeasureOn> MeasureOnGroup::on() const {
  if (!texts_.given("--on")) {
    if ((engine_ == "any" || compile_) && device_.empty() && precision_.empty()) return std::nullopt;
    throw Error(ErrorCode::WithoutEffect, "--engine, --engine-device and --inference-precision belong to --on",
                "add --on ENGINE");
  }
  return parse_choice<MeasureOn>("--on", texts_.last("--on"));
}

std::optional<CompileOptions> MeasureOnGroup::compile(const SourceOptions& scripts) const {
  if (!compile_) {
    if (capability_.empty() && shapes_.empty()) return std::nullopt;
    throw Error(ErrorCode::WithoutEffect, "--compute-capability and --shapes belong to --compile", "add --compile");
  }
  CompileOptions options;
  options.engine = parse_choice<EngineChoice>("--engine", engine_);
  options.compute_capability = capability_;
  for (const std::string& text : shapes_) options.shapes.insert(parse_input_shape("--shapes", text));
  options.plugins.assign(plugins_.begin(), plugins_.end());
  options.python = scripts.python;
  if (scripts.script_seconds > 0) options.seconds = scripts.script_seconds;
  return options;
}

EngineRunOptions MeasureOnGroup::values(const SourceOptions& scripts) const {
  EngineRunOptions options;
  options.engine = parse_choice<EngineChoice>("--engine", engine_);
  options.device = device_;
  options.plugins.assign(plugins_.begin(), plugins_.end());
  if (!precision_.empty()) options.settings["inference-precision"] = {precision_};
  options.python = scripts.python;
  if (scripts.script_seconds > 0) options.seconds = scripts.script_seconds;
  return options;
}

}  // namespace vernier::cli
