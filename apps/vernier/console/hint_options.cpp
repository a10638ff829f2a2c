#include "console/hint_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstddef>
#include <sstream>

namespace vernier::cli {
namespace {

/// "--check," -> "--check"; "vernier" of "(vernier".
std::string bare(const std::string& word) {
  constexpr std::string_view kAround = ",.;:()'\"?`";
  const std::size_t start = word.find_first_not_of(kAround);
  if (start == std::string::npos) return {};
  return word.substr(start, word.find_last_not_of(kAround) - start + 1);
}

const CLI::App* command_named(const CLI::App& app, const std::string& name) {
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_name() == name) return command;
  }
  return nullptr;
}

bool takes(const CLI::App& app, const std::string& option) {
  const std::vector<const CLI::Option*> options = app.get_options([](const CLI::Option*) { return true; });
  return std::any_of(options.begin(), options.end(), [&](const CLI::Option* one) { return one->check_name(option); });
}

/// The option of a word: "--trt=native" -> "--trt"; empty: the word is none.
std::string option_of(const std::string& word) {
  if (word.size() < 2 || word.front() != '-') return {};
  if (word.size() == 2) return std::isalpha(static_cast<unsigned char>(word[1])) != 0 ? word : std::string();
  if (!word.starts_with("--")) return {};
  return word.substr(0, word.find_first_of("=/|"));
}

}  // namespace

std::vector<std::string> options_out_of_place(const CLI::App& app, std::string_view hint) {
  const CLI::App* root = &app;
  while (root->get_parent() != nullptr) root = root->get_parent();
  std::vector<std::string> wrong;
  std::vector<const CLI::App*> named;  // commands that the options behind them may belong to
  bool behind_name = false;            // the last word was "vernier", or the name of a group
  const CLI::App* group = root;
  bool foreign = false;  // behind the name of another program: python3, numactl
  std::istringstream words{std::string(hint)};
  for (std::string raw; words >> raw;) {
    const std::string word = bare(raw);
    if (word == "vernier") {
      behind_name = true;
      group = root;
      if (!named.empty() && named.back() != nullptr) named.push_back(nullptr);  // a new list begins with the next
      foreign = false;
      continue;
    }
    if (word.starts_with("python") || word == "pip" || word == "numactl" || word == "trtexec" || word == "polygraphy")
      foreign = true;
    if (const CLI::App* command = command_named(*group, word); command != nullptr && (behind_name || group != root)) {
      if (!named.empty() && named.back() == nullptr) named.clear();
      if (!command->get_subcommands([](const CLI::App*) { return true; }).empty()) {
        group = command;
      } else {
        named.push_back(command);
      }
      behind_name = true;
      continue;
    }
    // "vernier diagnose, verify and debug precision take ...": a list.
    const bool lists = !named.empty() && (word == "and" || word == "or");
    if (!lists) behind_name = false;
    if (lists) group = root;
    const std::string option = foreign ? std::string() : option_of(word);
    if (raw.ends_with(',') || raw.ends_with(';')) foreign = false;
    if (option.empty()) continue;
    const bool there =
        named.empty() ? takes(app, option) : std::any_of(named.begin(), named.end(), [&](const CLI::App* command) {
          return command != nullptr && takes(*command, option);
        });
    if (!there && !takes(app, option)) wrong.push_back(option);
  }
  return wrong;
}

}  // namespace vernier::cli
