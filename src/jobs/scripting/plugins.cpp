// Patterns of plugins, run by the user's Python (scripts/plugins.py).

#include "vernier/plugins.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <ostream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/mapped_file.h"
#include "base/text.h"
#include "jobs/common/output_files.h"
#include "json/fields.h"
#include "json/json.h"
#include "scripts/programs.h"
#include "scripts/script_process.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/samples.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPattern = "pattern.py";

/// The folders with a pattern.
std::vector<std::string> plugins_in(const fs::path& folder) {
  std::error_code failed;
  std::vector<std::string> names;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed)) {
    std::error_code ignored;
    if (fs::exists(entry->path() / kPattern, ignored)) names.push_back(entry->path().filename().string());
  }
  if (failed) throw Error(ErrorCode::Library, fmt::format("{}: {}", printable(folder.string()), failed.message()));
  if (names.empty()) {
    throw Error(ErrorCode::Library, fmt::format("{}: no plugin is in this folder", printable(folder.string())),
                "a plugin is a folder with a pattern.py");
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool holds(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void require_plugins(const std::vector<std::string>& wanted, const std::vector<std::string>& names,
                     const char* option) {
  for (const std::string& name : wanted) {
    if (holds(names, name)) continue;
    throw Error(ErrorCode::UnknownName, fmt::format("{}: there is no plugin '{}'", option, printable(name)),
                "these are: " + list_some(names));
  }
}

/// Its last line.
Json run_program(const ScratchFile& scratch, ScriptLocation script, std::vector<std::string> arguments,
                 const PatternOptions& options, const JobSinks& sinks) {
  SourceOptions how;
  how.python = options.python;
  how.script_seconds = options.script_seconds;
  how.interrupted = sinks.interrupted;
  Json answer;
  ScriptProcess process(std::move(script), how);
  process.program = plugins_program();
  process.arguments = std::move(arguments);
  process.kind = "patterns of plugins";
  process.announces = "matches";
  process.said = [&](const Json& said) { answer = said; };
  process.run(scratch);
  return answer;
}

std::vector<std::string> texts_of(const Json& array) {
  std::vector<std::string> texts;
  for (const Json& text : array.items()) texts.push_back(text.text());
  return texts;
}

std::string list_in_yaml(const char* key, const std::vector<std::string>& names, const char* begin) {
  if (names.empty()) return fmt::format("{}{}: []\n", begin, key);
  std::string text = fmt::format("{}{}:\n", begin, key);
  for (const std::string& name : names) text += fmt::format("  - {}\n", json_quoted(name));
  return text;
}

}  // namespace

std::vector<PluginMatches> match_plugins(const MatchPluginsOptions& options, const JobSinks& sinks) {
  require_no_pipe(options.model);
  const std::vector<std::string> names = plugins_in(options.plugins);
  require_plugins(options.included, names, "‹include›");
  require_plugins(options.excluded, names, "‹exclude›");
  std::vector<PluginMatches> all;
  for (const std::string& name : names) {
    if (holds(options.excluded, name) || (!options.included.empty() && !holds(options.included, name))) continue;
    const ScratchFile scratch;
    const std::string pattern = (options.plugins / name / kPattern).string();
    const Json answer = run_program(scratch, {pattern, "get_matching_subgraphs"},
                                    {"match", fs::absolute(options.model).string()}, options, sinks);
    PluginMatches matches{name, answer.at("name").text(), answer.at("op").text(), {}};
    for (const Json& instance : answer.at("instances").items()) {
      PluginMatches::Instance one{texts_of(instance.at("inputs")), texts_of(instance.at("outputs")), {}};
      if (!instance.at("attributes").is_null()) one.attributes = json_text(instance.at("attributes"));
      matches.instances.push_back(std::move(one));
    }
    all.push_back(std::move(matches));
  }
  return all;
}

std::string plugin_config(const std::vector<PluginMatches>& matches) {
  // Scalars and attributes are JSON, which YAML includes.
  std::string text;
  for (const PluginMatches& plugin : matches) {
    if (plugin.instances.empty()) continue;
    if (!text.empty()) text += "---\n";
    text += fmt::format("name: {}\nop: {}\ninstances:\n", json_quoted(plugin.name), json_quoted(plugin.op));
    for (const PluginMatches::Instance& one : plugin.instances) {
      text += list_in_yaml("inputs", one.inputs, "- ") + list_in_yaml("outputs", one.outputs, "  ");
      if (one.attributes.empty()) continue;
      text += "  attributes:\n";
      const Json attributes = parse_json(one.attributes, "attributes");
      for (const Json::Member& attribute : attributes.members()) {
        text += fmt::format("    {}: {}\n", json_quoted(attribute.key), json_text(attribute.value));
      }
    }
  }
  return text;
}

PluginReplacements replace_by_plugins(const ReplaceByPluginsOptions& options, const JobSinks& sinks) {
  refuse_to_overwrite(options.output, {options.model, options.config});
  require_no_pipe(options.model);
  plugins_in(options.plugins);
  const ScratchFile scratch;
  const Json answer = run_program(
      scratch, {options.config.string(), ""},
      {"replace", fs::absolute(options.model).string(), fs::absolute(options.plugins).string()}, options, sinks);
  PluginReplacements result;
  for (const Json& plugin : answer.at("plugins").items()) {
    result.plugins.push_back(
        {plugin.at(0).text(), plugin.at(1).integer<std::size_t>(), plugin.at(2).integer<std::size_t>()});
  }
  result.nodes_before = answer.at("before").integer<std::size_t>();
  result.nodes_after = answer.at("after").integer<std::size_t>();
  const auto first = answer.at("model").at(0).integer<std::size_t>();
  const auto count = answer.at("model").at(1).integer<std::size_t>();
  const auto file = MappedFile::of(scratch.descriptor(), options.config);
  if (first + count > file->bytes().size()) {
    throw Error(ErrorCode::Library,
                fmt::format("{}: the model was not written whole", printable(options.config.string())));
  }
  const auto bytes = file->bytes().subspan(first, count);
  replace_file(options.output, [&](std::ostream& out) {
    out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  });
  return result;
}

}  // namespace vernier
