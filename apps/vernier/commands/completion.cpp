// `vernier completion bash|zsh`: a script for the shell, made from the commands and options that there are.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "commands/commands.h"
#include "console/console.h"
#include "options/options.h"
#include "options/parse_values.h"

namespace vernier::cli {
namespace {

struct CompletionLine {
  std::string shell;
  MessageGroup messages;
};

struct Words {
  std::string paths;    // case lines: which word leads from one command to the next
  std::string options;  // case lines: what can be typed behind a command
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
    for (const std::string& name : option->get_lnames()) list += "--" + name + " ";
  }
  if (!list.empty()) list.pop_back();
  words.options += fmt::format("    '{}') words='{}' ;;\n", path, list);
}

std::string script(const CLI::App& root, const std::string& shell) {
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
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _vernier vernier
)",
      words.paths, words.options);
  return text;
}

}  // namespace

Command add_completion(CLI::App& root) {
  auto line = std::make_shared<CompletionLine>();
  CLI::App& app = add_command(root, "completion", "Print a script that completes commands and options in a shell");
  add_argument(app, "SHELL", line->shell, "bash or zsh");
  add_message_options(app, line->messages);
  add_footer(app, "Example: vernier completion bash > ~/.local/share/bash-completion/completions/vernier");
  return {&app, &line->messages, [line, &root](Console& console) {
            print_result(console, script(root, parse_choice("SHELL", line->shell, {"bash", "zsh"})));
            return 0;
          }};
}

}  // namespace vernier::cli
