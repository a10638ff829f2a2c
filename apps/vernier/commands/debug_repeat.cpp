#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>

#include "commands/commands.h"
#include "console/console.h"
#include "options/check_options.h"
#include "options/options.h"
#include "options/parse_values.h"
#include "vernier/check.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/quantize.h"
#include "vernier/repeat.h"

namespace vernier::cli {
namespace {

struct RepeatLine {
  std::string model, until;
  PrecisionGroup precision;
  DataGroup data;
  CheckGroup check;
  EngineSettings builder;
  MessageGroup messages;
};

Until until_of(const std::string& text) {
  if (text.empty())
    throw Error(ErrorCode::MissingArgument, "--until is missing", "--until good, --until bad, or a number");
  Until until;
  if (text == "good" || text == "bad") {
    until.stop = text == "good" ? Until::Stop::Good : Until::Stop::Bad;
  } else {
    until.count = parse_count("--until", text, 1, 100000);
  }
  return until;
}

int report(Console& console, const RepeatReport& done, const CheckOptions& check) {
  std::string text = done.summary + "\n";
  if (!check.artifacts.empty()) {
    text += fmt::format(
        "Artifacts are in {0}/good and {0}/bad. Compare tactic replays with: vernier inspect diff-tactics --dir {0}\n",
        check.artifacts_dir.string());
  }
  print_result(console, text);
  return done.ended ? 0 : 1;
}

/// What a build keeps for the next one, or takes from another one.
void add_builder(CLI::App& app, EngineSettings& builder) {
  const auto file = [&](const char* option, const char* name, const char* help) {
    return add_value(
               app, option, [&builder, name](const std::string& path) { builder[name] = {path}; }, "FILE", help)
        .group("Builder (if TensorRT runs)");
  };
  file("--load-tactics,--load-tactic-replay", "load-tactics",
       "TensorRT 10: read the implementation of each layer (default: the builder chooses)");
  file("--save-tactics,--save-tactic-replay", "save-tactics",
       "TensorRT 10: write the implementations of a build (default: not written)")
      .writes();
  file("--load-timing-cache", "load-timing-cache", "Read kernel times of an earlier build (default: none)");
  file("--save-timing-cache", "save-timing-cache", "Write the kernel times of a build (default: not written)").writes();
}

void add_until(CLI::App& app, std::string& until) {
  add_value(app, "--until", until, "WHEN",
            "When to stop: good or bad, after the first such check; N, after N checks (required)")
      .group("Check");
}

}  // namespace

Command add_debug_repeat(CLI::App& root) {
  auto line = std::make_shared<RepeatLine>();
  CLI::App& app = add_command(command_group(root, "debug", "Find where a model goes wrong"), "repeat",
                              "Run a check repeatedly, and sort the files that it writes");
  add_until(app, line->until);
  line->check.add(app, "");
  add_message_options(app, line->messages);
  add_footer(app,
             "Example: vernier debug repeat --until bad --artifacts replay.json --check ./build_and_compare.sh\nExit "
             "code: 0 --until was reached; 2 usage; 3 input; 4 backend; 70 internal error; 130 interrupted");
  return {&app, &line->messages, [line](Console& console) {
            RepeatOptions options;
            options.until = until_of(line->until);
            options.check = line->check.values();
            options.command = "debug repeat";
            return report(console, debug_repeat(options, console.sinks(), check_sinks(console)), options.check);
          }};
}

Command add_debug_build(CLI::App& root) {
  auto line = std::make_shared<RepeatLine>();
  CLI::App& app = add_command(command_group(root, "debug", "Find where a model goes wrong"), "build",
                              "Build an engine repeatedly, and check each one");
  add_argument(app, "MODEL", line->model, "ONNX file");
  add_until(app, line->until);
  line->precision.add(app);
  line->data.add(app, "Samples to calibrate INT8 and FP8 on");
  add_builder(app, line->builder);
  line->check.add(app, "polygraphy_debug.engine");
  add_message_options(app, line->messages);
  const IgnoredOptions ignored = add_ignored_options(app);
  add_footer(app,
             "Without TensorRT no engine is built: every iteration gets the same typed ONNX model, and only the check "
             "can vary.\nExample: vernier debug build model.onnx --fp16 --until 10 --save-tactics replay.json "
             "--artifacts replay.json --check ./compare.sh polygraphy_debug.engine\nExit code: 0 --until was reached; "
             "2 usage; 3 input; 4 backend; 70 internal error; 130 interrupted");
  return {&app, &line->messages,
          [line](Console& console) {
            RepeatOptions options;
            options.until = until_of(line->until);
            options.check = line->check.values();
            options.command = "debug build";
            options.model = line->model;
            QuantizeOptions build;
            build.model = line->model;
            build.precision = line->precision.values();
            build.measure = line->data.values();
            build.as_engine = true;
            build.builder = line->builder;
            const bool typed = line->precision.any_low();
            JobSinks sinks = console.sinks();
            options.write = [build, typed, sinks](const std::filesystem::path& path) mutable {
              build.output = path;
              const QuantizeResult result = quantize(build, sinks);
              if (!result.is_engine) sinks.warn({"repeats-without-engine", {}});
              sinks.warning = {};  // they are the same each time
              if (!result.is_engine && !typed) {
                std::filesystem::copy_file(build.model.file(), path, std::filesystem::copy_options::overwrite_existing);
              }
            };
            return report(console, debug_repeat(options, console.sinks(), check_sinks(console)), options.check);
          },
          ignored};
}

}  // namespace vernier::cli
