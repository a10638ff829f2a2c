// `vernier template`: files to start from.
#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "commands/commands.h"
#include "console/console.h"
#include "options/options.h"
#include "options/parse_values.h"
#include "vernier/engine.h"
#include "vernier/error.h"
#include "vernier/format.h"
#include "vernier/quantize.h"
#include "vernier/templates.h"

namespace vernier::cli {
namespace {

CLI::App& group_member(CLI::App& root, const std::string& name, const std::string& description) {
  return add_command(command_group(root, "template", "Write a template that runs as it is"), name, description);
}

void add_output(CLI::App& app, std::string& output) {
  add_value(app, "-o,--output", output, "FILE", "File to write (default: stdout)").writes().group("Output");
}

int hand_over(Console& console, const std::string& output, const std::string& text) {
  if (output.empty()) {
    print_result(console, text);
  } else {
    replace_file(output, text);
  }
  return 0;
}

struct PlanTemplateLine {
  std::string model, output;
  PrecisionGroup precision;
  DataGroup data;
  MessageGroup messages;
};

Command add_plan(CLI::App& root) {
  auto line = std::make_shared<PlanTemplateLine>();
  CLI::App& app = group_member(root, "plan", "The plan that convert would follow; edit it and pass it with --plan");
  add_argument(app, "MODEL", line->model, "ONNX file");
  line->precision.add(app);
  line->data.add(app, "Samples to calibrate on, if a format needs them");
  line->data.add_calibration_cache(app);
  add_output(app, line->output);
  add_message_options(app, line->messages);
  add_footer(app,
             "Without a low format, the plan is for FP16, which needs no samples.\nExample: vernier template plan "
             "model.onnx -o plan.json && vernier convert model.onnx --plan plan.json -o typed.onnx\nExit code: 0 done; "
             "2 usage; 3 input; 4 backend; 70 internal error");
  return {&app, &line->messages, [line](Console& console) {
            QuantizeOptions options;
            options.model = line->model;
            options.precision = line->precision.values();
            if (options.precision.low.empty() && options.precision.layer_precisions.empty()) {
              options.precision.low = {Format::Float16};
            }
            options.measure = line->data.values();
            if (!line->output.empty()) require_writable_file(line->output);
            return hand_over(console, line->output, plan_template(options, console.sinks()));
          }};
}

struct ScriptLine {
  std::string model, output;
  MessageGroup messages;
};

constexpr const char* kReadsModel = "ONNX file, for its names, types and shapes";
constexpr const char* kAcceptsModel = "Accepted, not read: an ONNX file";

/// `about`: the model, which has to be given where it is read.
Command add_script(CLI::App& root, const std::string& name, const std::string& description, const std::string& example,
                   const std::string& about, const std::function<std::string(const std::string& model)>& make) {
  auto line = std::make_shared<ScriptLine>();
  CLI::App& app = group_member(root, name, description);
  add_argument(app, "MODEL", line->model, about).required(about == kReadsModel);
  add_output(app, line->output);
  add_message_options(app, line->messages);
  add_footer(app, "Example: " + example + "\nExit code: 0 done; 2 usage; 3 input; 70 internal error");
  return {&app, &line->messages, [line, make](Console& console) {
            if (!line->output.empty()) require_writable_file(line->output);
            return hand_over(console, line->output, make(line->model));
          }};
}

constexpr const char* kTrtGroup = "TensorRT";

void add_settings(CLI::App& app, const std::vector<TrtSetting>& known, EngineSettings& settings) {
  for (const TrtSetting& setting : known) {
    const std::string name = setting.name;
    if (setting.value == nullptr) {
      add_flag(
          app, "--" + name, [&settings, name] { settings[name] = {}; }, setting.help)
          .group(kTrtGroup);
      continue;
    }
    // None is fine too: --tactic-sources alone allows no library.
    add_values(
        app, "--" + name, [&settings, name](const std::vector<std::string>& values) { settings[name] = values; },
        setting.value, setting.help)
        .values(name == "tactic-sources" ? 0 : 1, setting.many ? kMostValues : 1)
        .group(kTrtGroup);
  }
}

struct NetworkTemplateLine {
  std::string model, output;
  EngineSettings settings;
  MessageGroup messages;
};

Command add_trt_network(CLI::App& root) {
  auto line = std::make_shared<NetworkTemplateLine>();
  CLI::App& app = group_member(root, "trt-network", "A Python script that builds a TensorRT network");
  add_argument(app, "MODEL", line->model, "ONNX file that the script parses; not read now").required(false);
  add_settings(app, trt_network_settings(), line->settings);
  add_output(app, line->output);
  add_message_options(app, line->messages);
  add_footer(app,
             "Example: vernier template trt-network model.onnx -o network.py\nExit code: 0 done; 2 usage; 3 input; 70 "
             "internal error");
  return {&app, &line->messages, [line](Console& console) {
            const std::string text = trt_network_template(line->model, line->settings);
            if (!line->output.empty()) require_writable_file(line->output);
            return hand_over(console, line->output, text);
          }};
}

struct ShapesRow {
  const char* name;
  const char* help;
  Shape ShapeRange::*end;
};
constexpr std::array kShapes{
    ShapesRow{"--trt-min-shapes", "Smallest shapes of an optimization profile", &ShapeRange::min},
    ShapesRow{"--trt-opt-shapes", "Its usual shapes, such as x:[8,3,224,224]", &ShapeRange::opt},
    ShapesRow{"--trt-max-shapes", "Its largest shapes", &ShapeRange::max},
};

struct ConfigTemplateLine {
  std::string model, output;
  std::array<bool, 4> chosen{};
  EngineSettings settings;
  std::array<std::vector<std::string>, 3> shapes;  // of kShapes
  MessageGroup messages;
};

Command add_trt_config(CLI::App& root) {
  static constexpr std::array kFlags{std::pair{"--fp16", Format::Float16}, std::pair{"--bf16", Format::BFloat16},
                                     std::pair{"--int8", Format::Int8}, std::pair{"--fp8", Format::Float8E4M3FN}};
  auto line = std::make_shared<ConfigTemplateLine>();
  CLI::App& app = group_member(root, "trt-config", "A Python script that configures a TensorRT builder");
  add_argument(app, "MODEL", line->model, kAcceptsModel).required(false);
  for (std::size_t i = 0; i < kFlags.size(); ++i) {
    add_flag(app, kFlags[i].first, line->chosen[i],
             fmt::format("Set the builder's flag for {}", format_name(kFlags[i].second)))
        .group("Precision");
  }
  add_settings(app, trt_config_settings(), line->settings);
  for (std::size_t i = 0; i < kShapes.size(); ++i) {
    add_values(app, kShapes[i].name, line->shapes[i], "NAME:SHAPE", kShapes[i].help).group(kTrtGroup);
  }
  add_output(app, line->output);
  add_message_options(app, line->messages);
  add_footer(app,
             "Example: vernier template trt-config --fp16 -o config.py\nExit code: 0 done; 2 usage; 3 input; 70 "
             "internal error");
  return {&app, &line->messages, [line](Console& console) {
            std::set<Format> formats;
            for (std::size_t i = 0; i < kFlags.size(); ++i) {
              if (line->chosen[i]) formats.insert(kFlags[i].second);
            }
            std::map<std::string, ShapeRange> profile;
            for (std::size_t i = 0; i < kShapes.size(); ++i) {
              for (auto& [name, shape] : parse_input_shapes(kShapes[i].name, line->shapes[i])) {
                profile[name].*kShapes[i].end = std::move(shape);
              }
            }
            const std::string text = trt_config_template(formats, line->settings, profile);
            if (!line->output.empty()) require_writable_file(line->output);
            return hand_over(console, line->output, text);
          }};
}

}  // namespace

std::vector<Command> add_templates(CLI::App& root) {
  return {
      add_plan(root),
      add_script(root, "data-loader", "A Python script that yields samples, for --data",
                 "vernier template data-loader model.onnx -o loader.py", kReadsModel, data_loader_template),
      add_script(root, "metric-script", "A Python script that rates outputs, for --metric-script",
                 "vernier template metric-script -o metric.py", kAcceptsModel,
                 [](const std::string&) { return metric_script_template(); }),
      add_script(root, "postprocess-script", "A Python script that changes outputs before comparison",
                 "vernier template postprocess-script model.onnx -o postprocess.py", kReadsModel,
                 postprocess_script_template),
      add_script(root, "onnx-gs", "A Python script that edits the model with ONNX GraphSurgeon",
                 "vernier template onnx-gs model.onnx -o edit.py", kReadsModel, onnx_gs_template),
      add_trt_network(root),
      add_trt_config(root),
  };
}

}  // namespace vernier::cli
