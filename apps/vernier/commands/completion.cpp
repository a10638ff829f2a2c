// `vernier completion bash|zsh|fish`: a script for the shell, made from the commands and options that there are. With
// json they are data, for scripts/update_options and scripts/update_reference.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "commands/commands.h"
#include "commands/finding_names.h"
#include "console/command_line.h"
#include "console/console.h"
#include "console/exit_codes.h"
#include "console/help.h"
#include "console/option_values.h"
#include "json/json.h"
#include "options/options.h"
#include "options/parse_values.h"
#include "table/entries.h"
#include "vernier/error_code.h"
#include "vernier/fix.h"
#include "vernier/marks.h"
#include "vernier/report/causes.h"
#include "vernier/report/outcome.h"

namespace vernier::cli {
namespace {

struct CompletionLine {
  std::string shell;
  MessageGroup messages;
};

struct Words {
  std::string paths;    // case lines: which word leads from one command to the next
  std::string options;  // case lines: what can be typed behind a command
  std::string values;   // case lines: what can be typed behind an option of a command
};

void collect(const CLI::App& app, const std::string& path, Words& words) {
  std::string list;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    const std::string next = path + " " + command->get_name();
    words.paths += fmt::format("      '{}') path='{}' ;;\n", next, next);
    list += command->get_name() + " ";
    collect(*command, next, words);
  }
  for (const CLI::Option* option : app.get_options([](const CLI::Option*) { return true; })) {
    if (option->get_group().empty()) continue;  // hidden
    for (const std::string& name : option->get_lnames()) {
      list += "--" + name + " ";
      const std::vector<std::string> known = words_of_option(path, "--" + name);
      if (known.empty()) continue;
      words.values += fmt::format("    '{} --{}') words='{}' ;;\n", path, name, fmt::join(known, " "));
    }
  }
  if (!list.empty()) list.pop_back();
  words.options += fmt::format("    '{}') words='{}' ;;\n", path, list);
}

/// For a text in single quotes of fish.
std::string fish_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}

/// `seen`: fish's condition that the words of `path` stand on the line.
void collect_fish(const CLI::App& app, const std::string& path, const std::string& seen, std::string& text) {
  std::vector<std::string> names;
  const std::vector<const CLI::App*> commands = app.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* command : commands) names.push_back(command->get_name());
  const std::string none_yet = names.empty() ? seen
                                             : fmt::format("{}{}not __fish_seen_subcommand_from {}", seen,
                                                           seen.empty() ? "" : "; and ", fmt::join(names, " "));
  for (const CLI::App* command : commands) {
    text += fmt::format("complete -c vernier -f -n {} -a {} -d {}\n", fish_quoted(none_yet), command->get_name(),
                        fish_quoted(command->get_description()));
    collect_fish(
        *command, path + " " + command->get_name(),
        fmt::format("{}{}__fish_seen_subcommand_from {}", seen, seen.empty() ? "" : "; and ", command->get_name()),
        text);
  }
  for (const CLI::Option* option : app.get_options([](const CLI::Option*) { return true; })) {
    if (option->get_group().empty() || option->get_lnames().empty()) continue;
    const std::string& name = option->get_lnames().front();
    text += fmt::format("complete -c vernier -n {} -l {}", fish_quoted(none_yet), name);
    if (option->get_expected_max() > 0) text += " -r";
    if (const std::vector<std::string> known = words_of_option(path, "--" + name); !known.empty()) {
      text += fmt::format(" -f -a {}", fish_quoted(fmt::format("{}", fmt::join(known, " "))));
    }
    const std::string& description = option->get_description();
    text += fmt::format(" -d {}\n", fish_quoted(description.substr(0, description.find_first_of(":(;"))));
  }
}

/// Every command with its options, in the order of the help; then the table, with what Python has of it.
Json as_data(const CLI::App& app) {
  Json data = Json::object();
  data["name"] = full_name(app);
  data["about"] = app.get_description();
  data["footer"] = app.get_footer();
  data["arguments"] = Json::array();
  data["options"] = Json::array();
  data["commands"] = Json::array();
  for (const CLI::Option* option : app.get_options([](const CLI::Option*) { return true; })) {
    Json one = Json::object();
    one["help"] = option->get_description();
    if (option->get_positional()) {
      one["name"] = option->get_name(/*positional=*/true);
      data["arguments"].add(std::move(one));
      continue;
    }
    if (option->get_group().empty()) continue;  // hidden
    one["names"] = names_of(*option);
    one["group"] = option->get_group();
    data["options"].add(std::move(one));
  }
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!command->get_group().empty()) data["commands"].add(as_data(*command));
  }
  return data;
}

Json named(std::string_view id, std::string_view text, const char* more, std::string_view value) {
  Json entry = Json::object();
  entry["id"] = id;
  entry["text"] = command_words(text);
  entry[more] = value;
  return entry;
}

/// For scripts/update_reference.
void add_names(Json& data) {
  for (const CauseName& cause : cause_names())
    data["causes"].add(named(cause.id, cause.text, "formats", cause.formats));
  for (const RepairName& repair : repair_names())
    data["repairs"].add(named(repair.id, repair.text, "cost", repair.cost));
  for (const FindingName& defect : defect_names()) {
    data["defects"].add(named(defect.kind, defect.text, "kind", ""));
  }
  for (const ExitCode& code : kExitCodes) {
    data["exit_codes"].add(named(std::to_string(code.code), code.meaning, "kind", ""));
  }
  for (const ErrorPage& page : error_pages()) {
    Json entry = named(code_name(page.code), page.title, "why", command_words(page.why));
    entry["cure"] = command_words(page.cure);
    entry["command"] = command_words(page.command);
    data["errors"].add(std::move(entry));
  }
  for (std::size_t i = 0; i < words_of(Outcome{}).size(); ++i) {
    const auto outcome = static_cast<Outcome>(i);
    data["outcomes"].add(named(word_of(outcome), text_of(outcome), "kind", ""));
  }
}

Json table_as_data() {
  Json rows = Json::array();
  for (const table::Entry& entry : table::entries()) {
    Json row = Json::object();
    row["options"] = entry.options;
    row["names"] = entry.words.names;
    row["argument"] = entry.words.argument;
    row["jobs"] = entry.words.jobs;
    row["common"] = entry.words.common;
    row["help"] = entry.words.help;
    row["kind"] = entry.kind;
    row["default"] = entry.shown;
    row["type"] = entry.type;
    row["initial"] = entry.initial;
    row["doc"] = entry.words.doc;
    rows.add(std::move(row));
  }
  return rows;
}

std::string script(const CLI::App& root, const std::string& shell) {
  if (shell == "json") {  // for scripts/update_options
    Json data = as_data(root);
    data["table"] = table_as_data();
    add_names(data);
    return json_text(data);
  }
  if (shell == "fish") {
    std::string text;
    collect_fish(root, "vernier", "", text);
    return text;
  }
  Words words;
  collect(root, "vernier", words);
  std::string text = shell == "zsh" ? "#compdef vernier\nautoload -U +X bashcompinit && bashcompinit\n" : "";
  text += fmt::format(
      R"(_vernier() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} path=vernier words word
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case "$path $word" in
{}    esac
  done
  case "$path" in
{}  esac
  case "$path ${{COMP_WORDS[COMP_CWORD-1]}}" in
{}  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _vernier vernier
)",
      words.paths, words.options, words.values);
  return text;
}

}  // namespace

Command add_completion(CLI::App& root) {
  auto line = std::make_shared<CompletionLine>();
  CLI::App& app = add_command(root, "completion", "Print a script that completes commands and options in a shell");
  add_argument(app, "SHELL", line->shell, "bash, zsh or fish");
  add_message_options(app, line->messages);
  add_footer(app, "Example: vernier completion bash > ~/.local/share/bash-completion/completions/vernier");
  return {&app, &line->messages, [line, &root](Console& console) {
            print_result(console, script(root, line->shell == "json"
                                                   ? "json"
                                                   : parse_choice("SHELL", line->shell, {"bash", "zsh", "fish"})));
            return 0;
          }};
}

}  // namespace vernier::cli
