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
#include "vernier/convert.h"
#include "vernier/error.h"
#include "vernier/repeat.h"

namespace vernier::cli {
namespace {

struct RepeatLine {
  std::string model, until;
  PrecisionGroup precision;
  DataGroup data;
  CheckGroup check;
  MessageGroup messages;
};

Until until_of(const std::string& text) {
  if (text.empty()) throw Error(ErrorKind::Usage, "--until is missing", "--until good, --until bad, or a number");
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
        "Artifacts are in {0}/good and {0}/bad; of tactic replays: vernier inspect diff-tactics --dir {0}\n",
        check.artifacts_dir.string());
  }
  print_result(console, text);
  return done.ended ? 0 : 1;
}

void add_until(CLI::App& app, std::string& until) {
  add_value(app, "--until", until, "WHEN", "good, bad: until a check is; N: so many times (required)").group("Check");
}

}  // namespace

Command add_debug_repeat(CLI::App& root) {
  auto line = std::make_shared<RepeatLine>();
  CLI::App& app = add_command(command_group(root, "debug", "Find where a model goes wrong"), "repeat",
                              "Run a check again and again, and sort what it leaves behind");
  add_until(app, line->until);
  line->check.add(app, "");
  add_message_options(app, line->messages);
  add_footer(app,
             "Example: vernier debug repeat --until bad --artifacts replay.json --check ./build_and_compare.sh\n"
             "Exit code: 0 what was waited for came, or N checks ran; 2 usage; 3 input; 4 backend; 70 our fault; 130 "
             "interrupted");
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
                              "Write a model again and again, with a check of each one");
  add_argument(app, "MODEL", line->model, "ONNX file");
  add_until(app, line->until);
  line->precision.add(app);
  line->data.add(app, "Samples to learn the ranges of int8 and fp8 from");
  line->check.add(app, "polygraphy_debug.engine");
  add_message_options(app, line->messages);
  const IgnoredOptions ignored = add_ignored_options(app);
  add_footer(
      app,
      "Without TensorRT no engine is built: the file is a typed ONNX model, the same in every iteration. What differs "
      "from one to the next is what the check does with it.\n"
      "Example: vernier debug build model.onnx --fp16 --until 10 --check ./build_and_compare.sh "
      "polygraphy_debug.engine\n"
      "Exit code: 0 what was waited for came, or N checks ran; 2 usage; 3 input; 4 backend; 70 our fault; 130 "
      "interrupted");
  return {&app, &line->messages,
          [line](Console& console) {
            RepeatOptions options;
            options.until = until_of(line->until);
            options.check = line->check.values();
            options.command = "debug build";
            options.model = line->model;
            console.warning(fmt::format("{}: no TensorRT here: a typed ONNX model is written under this name",
                                        options.check.candidate.string()));
            ConvertOptions convert_options;
            convert_options.model = line->model;
            convert_options.precision = line->precision.values();
            convert_options.measure = line->data.values();
            const bool typed = line->precision.any_low();
            options.write = [convert_options, typed, &console](const std::filesystem::path& path) mutable {
              if (!typed) {
                std::filesystem::copy_file(convert_options.model, path,
                                           std::filesystem::copy_options::overwrite_existing);
                return;
              }
              convert_options.output = path;
              convert(convert_options, console.sinks());
            };
            return report(console, debug_repeat(options, console.sinks(), check_sinks(console)), options.check);
          },
          ignored};
}

}  // namespace vernier::cli
