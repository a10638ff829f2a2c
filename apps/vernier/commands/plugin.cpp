// `vernier plugin`: parts of a graph that plugins can compute.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "commands/commands.h"
#include "console/console.h"
#include "options/options.h"
#include "options/parse_values.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/plugins.h"

namespace vernier::cli {
namespace {

CLI::App& plugin(CLI::App& root, const std::string& name, const std::string& description) {
  return add_command(
      command_group(root, "plugin", "Find the parts of a graph that plugins can compute, and replace them"), name,
      description);
}

/// What all of them read.
struct PatternLine {
  std::string model, folder, python = "python3", seconds;
  std::vector<std::string> included, excluded;
  std::string output, config;
  MessageGroup messages;

  void add(CLI::App& app) {
    add_argument(app, "MODEL", model, "ONNX file");
    add_value(app, "--plugin-dir", folder, "DIR",
              "Folder with one folder per plugin, each with a pattern.py for ONNX GraphSurgeon (required)")
        .group("Plugins");
  }
  void add_patterns(CLI::App& app) {
    add(app);
    add_values(app, "--include", included, "NAME", "Only these plugins (default: all)").group("Plugins");
    add_values(app, "--exclude", excluded, "NAME", "All plugins except these (default: none)").group("Plugins");
    add_python(app);
  }
  void add_python(CLI::App& app) {
    add_value(app, "--python", python, "PROGRAM", "Python with onnx and onnx_graphsurgeon (default: python3)")
        .group("Plugins");
    add_value(app, "--timeout", seconds, "SECONDS", "Seconds that a pattern may take (default: no limit)")
        .group("Plugins");
  }
  /// A file beside the model, as the peer has it, where no name is given.
  static std::filesystem::path beside(const std::string& model, const std::string& given, const char* name) {
    return given.empty() ? std::filesystem::path(model).parent_path() / name : std::filesystem::path(given);
  }
  template <class Options>
  Options values(const char* command) const {
    if (folder.empty()) {
      throw Error(ErrorCode::MissingArgument, fmt::format("vernier plugin {}: --plugin-dir is missing", command),
                  "--plugin-dir DIR, with one folder per plugin");
    }
    Options options;
    options.model = model;
    options.plugins = folder;
    options.python = python;
    if (!seconds.empty()) options.script_seconds = parse_number("--timeout", seconds);
    if (!seconds.empty() && !(options.script_seconds > 0)) {
      throw Error(ErrorCode::BadValue, fmt::format("--timeout: {} s is not a time limit", seconds),
                  "--timeout 600, for example");
    }
    return options;
  }
  std::vector<PluginMatches> matches(const char* command, Console& console) const {
    if (!included.empty() && !excluded.empty()) {
      throw Error(ErrorCode::Contradiction, "--include and --exclude cannot be combined", "leave out one of them");
    }
    auto options = values<MatchPluginsOptions>(command);
    options.included = included;
    options.excluded = excluded;
    return match_plugins(options, console.sinks());
  }
};

constexpr const char* kPluginExitCodes =
    "\nExit code: 0 done; 2 usage; 3 input; 4 backend; 70 internal error; 130 interrupted";

}  // namespace

Command add_plugin_match(CLI::App& root) {
  auto line = std::make_shared<PatternLine>();
  CLI::App& app =
      plugin(root, "match", "List the parts that plugins can compute in a file for plugin replace; edit it first");
  line->add_patterns(app);
  add_value(app, "-o,--output", line->output, "FILE", "YAML file to write (default: config.yaml next to the model)")
      .writes()
      .group("Output");
  add_message_options(app, line->messages);
  const IgnoredOptions ignored = add_ignored_options(app);
  add_footer(app, fmt::format("Example: vernier plugin match model.onnx --plugin-dir plugins -o config.yaml{}",
                              kPluginExitCodes));
  return {&app, &line->messages,
          [line](Console& console) {
            const std::filesystem::path output = PatternLine::beside(line->model, line->output, "config.yaml");
            require_writable_file(output);
            const std::vector<PluginMatches> matches = line->matches("match", console);
            replace_file(output, plugin_config(matches));
            std::string text = output.string() + "\n";
            for (const PluginMatches& one : matches) {
              text += fmt::format("  {}: {}\n", printable(one.folder), plural(one.instances.size(), "instance"));
            }
            print_result(console, text);
            return 0;
          },
          ignored};
}

Command add_plugin_list(CLI::App& root) {
  auto line = std::make_shared<PatternLine>();
  CLI::App& app = plugin(root, "list", "Count the parts that each plugin can compute");
  line->add_patterns(app);
  add_message_options(app, line->messages);
  const IgnoredOptions ignored = add_ignored_options(app);
  add_footer(app,
             fmt::format("Prints one line, a Python dict, as Polygraphy does.\nExample: vernier plugin list model.onnx "
                         "--plugin-dir plugins{}",
                         kPluginExitCodes));
  return {&app, &line->messages,
          [line](Console& console) {
            std::vector<std::string> counts;
            for (const PluginMatches& one : line->matches("list", console)) {
              counts.push_back(fmt::format("'{}': {}", printable(one.folder), one.instances.size()));
            }
            std::string text;
            for (const std::string& count : counts) text += (text.empty() ? "" : ", ") + count;
            print_result(console, "{" + text + "}\n");
            return 0;
          },
          ignored};
}

Command add_plugin_replace(CLI::App& root) {
  auto line = std::make_shared<PatternLine>();
  CLI::App& app = plugin(root, "replace", "Replace the parts that a file of plugin match lists, one node each");
  line->add(app);
  add_value(app, "--config", line->config, "FILE",
            "File of plugin match; reading it needs PyYAML (default: config.yaml next to the model)")
      .group("Plugins");
  line->add_python(app);
  add_value(app, "-o,--output", line->output, "FILE", "ONNX file to write (default: replaced.onnx next to the model)")
      .writes()
      .group("Output");
  add_message_options(app, line->messages);
  const IgnoredOptions ignored = add_ignored_options(app);
  add_footer(app, fmt::format("Example: vernier plugin replace model.onnx --plugin-dir plugins --config config.yaml -o "
                              "replaced.onnx{}",
                              kPluginExitCodes));
  return {&app, &line->messages,
          [line](Console& console) {
            auto options = line->values<ReplaceByPluginsOptions>("replace");
            options.config = PatternLine::beside(line->model, line->config, "config.yaml");
            options.output = PatternLine::beside(line->model, line->output, "replaced.onnx");
            require_writable_file(options.output);
            const PluginReplacements result = replace_by_plugins(options, console.sinks());
            std::string text = fmt::format("{}: {}, of {}\n", options.output.string(),
                                           plural(result.nodes_after, "node"), result.nodes_before);
            for (const PluginReplacements::Plugin& one : result.plugins) {
              text += fmt::format("  {}: {} of {} replaced\n", printable(one.name), one.replaced,
                                  plural(one.listed, "instance"));
              if (one.replaced < one.listed) {
                console.warning(fmt::format("{}: its pattern.py left {} in place", printable(one.name),
                                            plural(one.listed - one.replaced, "instance")));
              }
            }
            print_result(console, text);
            return 0;
          },
          ignored};
}

}  // namespace vernier::cli
