#include "console/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/quote.h"
#include "base/text.h"
#include "console/hint_options.h"
#include "options/compare_function.h"
#include "options/modelopt_words.h"
#include "options/peer_options.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier::cli {
namespace {

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options([](const CLI::Option*) { return true; })) {
    if (option->get_group().empty()) continue;  // hidden: accepted, but nothing to recommend
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

std::string help_hint(const CLI::App& app) { return fmt::format("{} --help-all lists its options", full_name(app)); }

void add_owners(const CLI::App& app, const std::string& name, std::vector<std::string>& owners) {
  for (const CLI::App* other : app.get_subcommands([](const CLI::App*) { return true; })) {
    const std::vector<std::string> names = option_names(*other);
    if (std::find(names.begin(), names.end(), name) != names.end()) owners.push_back(full_name(*other));
    add_owners(*other, name, owners);
  }
}

/// All commands that have the option `name`.
std::vector<std::string> commands_with(const CLI::App& app, const std::string& name) {
  const CLI::App* root = &app;
  while (root->get_parent() != nullptr) root = root->get_parent();
  std::vector<std::string> owners;
  add_owners(*root, name, owners);
  return owners;
}

/// A hint for an option whose usual replacement this command lacks.
std::string who_takes(const CLI::App& app, const std::string& name) {
  const std::vector<std::string> owners = commands_with(app, name);
  return owners.empty() ? help_hint(app) : fmt::format("{} {}", owners.front(), name);
}

/// "--calibration-method" for "--method"; empty: no option, or several, say that of something.
std::string of_something(const CLI::App& app, const std::string& name) {
  std::vector<std::string> longer = option_names(app);
  std::erase_if(longer,
                [&](const std::string& own) { return !name.starts_with("--") || !own.ends_with(name.substr(1)); });
  return longer.size() == 1 ? longer.front() : "";
}

[[noreturn]] void unknown_option(const CLI::App& app, const std::string& argument) {
  const std::string name = argument.substr(0, argument.find('='));
  if (const std::optional<Refusal> refusal = refusal_by(app, name)) {
    std::string instead(refusal->instead);
    if (!options_out_of_place(app, instead).empty()) instead = who_takes(app, name);
    throw Error(ErrorCode::NotSupported, fmt::format("{}: {}", name, refusal->reason), instead);
  }
  if (const std::vector<std::string> owners = commands_with(app, name); !owners.empty()) {
    const std::string own = of_something(app, name);
    throw Error(ErrorCode::UnknownOption,
                fmt::format("{} belongs to {}, not to {}", name, list_some(owners, 3), full_name(app)),
                own.empty() ? help_hint(app) : fmt::format("did you mean {}?", own));
  }
  const std::vector<std::string> near = nearest_names(name, option_names(app), 1);
  throw Error(ErrorCode::UnknownOption, fmt::format("unknown option {} of {}", printable(name), full_name(app)),
              near.empty() ? help_hint(app) : fmt::format("did you mean {}?", near.front()));
}

/// Of one file this command shows something, of two the difference.
bool compares_two(const CLI::App& app) { return app.get_option_no_throw("--diff") != nullptr; }

std::string comparison_of(const CLI::App& app, const std::string& second) {
  std::string text = full_name(app) + " --diff";
  for (const CLI::Option* option : app.get_options([](const CLI::Option*) { return true; })) {
    if (!option->get_positional()) continue;
    for (const std::string& first : option->results()) {
      if (first == "diff") return text + " BEFORE AFTER compares two";
      text += " " + shell_quote(first);
    }
  }
  return fmt::format("{} {} compares the two", text, shell_quote(second));
}

/// Commands of Polygraphy that are not here, by the last word of the group.
struct AbsentCommand {
  std::string_view group, name;
  const char* why;
  const char* instead;
};
constexpr std::array kAbsentCommands{
    AbsentCommand{"vernier", "multi-device", "vernier does not split models over devices", "polygraphy multi-device"},
    AbsentCommand{"plugin", "autotune", "vernier does not time plugins", "polygraphy plugin autotune"},
    AbsentCommand{"template", "shard-hints", "vernier does not split models over devices",
                  "polygraphy template shard-hints"},
};

[[noreturn]] void unknown_argument(const CLI::App& app, const std::string& argument) {
  const std::vector<std::string> commands = command_names(app);
  if (commands.empty()) {
    const std::string text = fmt::format("unexpected argument: '{}'", printable(argument));
    throw Error(ErrorCode::UnknownOption, text, compares_two(app) ? comparison_of(app, argument) : help_hint(app));
  }
  const auto absent = std::ranges::find_if(kAbsentCommands, [&](const AbsentCommand& command) {
    return command.name == argument && app.get_name() == command.group;
  });
  if (absent != kAbsentCommands.end()) {
    throw Error(ErrorCode::NotSupported, fmt::format("{}: {}", argument, absent->why), absent->instead);
  }
  const std::vector<std::string> near = nearest_names(argument, commands, 1);
  throw Error(
      ErrorCode::UnknownCommand, fmt::format("unknown command '{}'", printable(argument)),
      near.empty() ? "one of: " + list_some(commands, commands.size()) : fmt::format("did you mean {}?", near.front()));
}

/// --check takes the rest of the line, options of the check included. It becomes one argument that nothing here looks
/// into, its words apart by the one byte that no argument can hold.
void bundle_check(std::vector<std::string>& arguments) {
  const auto check = std::find_if(arguments.begin(), arguments.end(), [](const std::string& argument) {
    return argument == "--check" || argument == "--check-inference";
  });
  if (check == arguments.end()) return;
  std::string bundle = "--check=";
  for (auto word = check + 1; word != arguments.end(); ++word) bundle += '\0' + *word;
  arguments.erase(check, arguments.end());
  arguments.push_back(std::move(bundle));
}

/// What nothing claimed: more telling than whatever CLI11 stumbled over first.
void explain_leftovers(const CLI::App& root) {
  const CLI::App* app = &root;
  for (;;) {
    const std::vector<std::string> left = app->remaining();
    const auto option = std::find_if(left.begin(), left.end(),
                                     [](const std::string& text) { return text.size() > 1 && text.front() == '-'; });
    // Behind a misspelt command its options are unknown too: the command comes first.
    const bool command = !left.empty() && !left.front().starts_with('-') && !command_names(*app).empty();
    if (command) unknown_argument(*app, left.front());
    if (option != left.end() && *option != "--") unknown_option(*app, *option);
    if (!left.empty() && left.front() != "--") unknown_argument(*app, left.front());
    const std::vector<CLI::App*> next = app->get_subcommands();
    if (next.empty()) return;
    app = next.back();
  }
}

}  // namespace

std::string full_name(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : full_name(*app.get_parent()) + " " + app.get_name();
}

std::optional<Refusal> refusal_by(const CLI::App& app, const std::string& option) {
  if (app.get_parent() == nullptr) return std::nullopt;
  const auto takes = [&](const std::string& name) { return app.get_option_no_throw(name) != nullptr; };
  const CLI::App* root = &app;
  while (root->get_parent() != nullptr) root = root->get_parent();
  return refusal_of(option, full_name(app).substr(root->get_name().size() + 1), takes);
}

std::string command_text(const std::vector<std::string>& arguments) {
  std::string text = "vernier";
  for (const std::string& argument : arguments) text += ' ' + shell_quote(argument);
  return text;
}

std::string resolved_command(const CLI::App& app, const std::string& typed) {
  std::string text = typed;
  constexpr std::string_view kItself = " --print-command";  // the line is to be run
  if (const std::size_t at = text.find(kItself); at != std::string::npos) text.erase(at, kItself.size());
  for (const CLI::Option* option : app.get_options([](const CLI::Option*) { return true; })) {
    const std::string value = option->get_default_str();
    const bool shown = !option->get_group().empty() && !option->get_positional() && !option->get_lnames().empty();
    if (!shown || option->count() > 0 || value.empty()) continue;
    text += fmt::format(" --{} {}", option->get_lnames().front(), shell_quote(value));
  }
  return text;
}

/// "--openvino GPU.1" is an option with a value, where "--openvino model.onnx" is a flag and an argument.
void name_devices(std::vector<std::string>& arguments) {
  const auto is_device = [](const std::string& text) {
    return std::ranges::any_of(std::array{"CPU", "GPU", "NPU", "AUTO", "HETERO", "MULTI"}, [&](const char* kind) {
      const std::string_view rest = text.starts_with(kind) ? std::string_view(text).substr(std::strlen(kind)) : "-";
      return rest.empty() || rest.front() == '.' || rest.front() == ':';
    });
  };
  for (std::size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
    if (arguments[i].starts_with("--openvino=")) arguments[i].insert(10, "-device");
    if (arguments[i] == "--openvino" && i + 1 < arguments.size() && is_device(arguments[i + 1])) {
      arguments[i] += "-device";
    }
  }
}

/// "--compare-outputs" may name functions, as --compare does, or stand alone in front of an argument.
void name_compared(std::vector<std::string>& arguments) {
  constexpr std::string_view kName = "--compare-outputs";
  for (std::size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
    const bool names = i + 1 < arguments.size() && is_compare_function(arguments[i + 1]);
    if (arguments[i].starts_with("--compare-outputs=") || (arguments[i] == kName && names)) {
      arguments[i].replace(0, kName.size(), "--compare");
    }
  }
}

std::vector<std::string> normalize_arguments(std::vector<std::string> arguments) {
  bundle_check(arguments);
  name_devices(arguments);
  name_compared(arguments);
  constexpr std::string_view kRange = "--val-range";
  bool in_range = false;
  for (std::string& argument : arguments) {
    if (argument == "--") break;
    // Flags that may have a value, which CLI11's flags cannot.
    if (argument == "--trt=native" || argument == "--trt=sim") argument[5] = '-';
    if (argument.starts_with("--")) {
      const std::size_t end = std::min(argument.find('='), argument.size());
      std::replace(argument.begin(), argument.begin() + static_cast<std::ptrdiff_t>(end), '_', '-');
      in_range = argument.substr(0, end) == kRange;
      if (in_range && end + 1 < argument.size() && argument[end + 1] == '[') argument.insert(end + 1, ":");
    } else if (in_range && argument.starts_with('[')) {
      argument.insert(0, ":");
    }
  }
  rename_words_of_modelopt(arguments);
  return arguments;
}

const CLI::App& chosen_app(const CLI::App& root) {
  const CLI::App* app = &root;
  while (!app->get_subcommands().empty()) app = app->get_subcommands().back();
  return *app;
}

/// "help run" means "run --help", as in other tools; "help accuracy" is a command of its own, and "help smooth" means
/// "help name smooth".
void turn_help_around(const CLI::App& root, std::vector<std::string>& arguments) {
  if (arguments.size() < 2 || arguments.front() != "help") return;
  const std::vector<std::string> commands = command_names(root);
  if (std::find(commands.begin(), commands.end(), arguments[1]) == commands.end()) {
    const std::vector<std::string> topics = command_names(*root.get_subcommand("help"));
    const bool known = std::find(topics.begin(), topics.end(), arguments[1]) != topics.end();
    if (!known && !arguments[1].starts_with('-')) arguments.insert(arguments.begin() + 1, "name");
    return;
  }
  arguments.erase(arguments.begin());
  arguments.push_back("--help");
}

/// "debug -v reduce MODEL" means "debug reduce -v MODEL": scripts for Polygraphy have options of messages there.
void move_behind_command(const CLI::App& root, std::vector<std::string>& arguments) {
  if (arguments.size() < 3 || !arguments[1].starts_with('-') || arguments[1] == "--") return;
  const std::vector<const CLI::App*> groups = root.get_subcommands(
      [&](const CLI::App* app) { return app->get_name() == arguments.front() && !command_names(*app).empty(); });
  if (groups.empty()) return;
  const std::vector<std::string> commands = command_names(*groups.front());
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    if (arguments[i] == "--log-file" || arguments[i] == "--log_file") {
      ++i;  // its value may have any name
    } else if (arguments[i] == "--log-format" || arguments[i] == "--log_format" || arguments[i] == "--verbosity") {
      // Behind the command its words would have no end. They change nothing here.
      auto end = arguments.begin() + static_cast<std::ptrdiff_t>(i) + 1;
      while (end != arguments.end() && !end->starts_with('-') && std::ranges::find(commands, *end) == commands.end())
        ++end;
      arguments.erase(arguments.begin() + static_cast<std::ptrdiff_t>(i), end);
      --i;
    } else if (!arguments[i].starts_with('-')) {
      std::rotate(arguments.begin() + 1, arguments.begin() + static_cast<std::ptrdiff_t>(i),
                  arguments.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      return;
    }
  }
}

void parse_arguments(CLI::App& root, std::vector<std::string> arguments) {
  turn_help_around(root, arguments);
  move_behind_command(root, arguments);
  std::vector<std::string> reversed = normalize_arguments(std::move(arguments));
  for (std::string& argument : reversed) keep_brackets(argument);
  std::reverse(reversed.begin(), reversed.end());  // the order that CLI11 wants
  try {
    root.parse(std::move(reversed));
  } catch (const CLI::Success&) {
    throw;
  } catch (const CLI::ParseError& error) {
    explain_leftovers(root);
    const CLI::App& app = chosen_app(root);
    if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
      throw Error(ErrorCode::MissingArgument, fmt::format("{}: {}", full_name(app), error.what()),
                  fmt::format("usage: {} --help", full_name(app)));
    }
    std::string text = error.what();
    // CLI11 counts: "--data: 1 required SOURCE missing".
    if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr && text.ends_with(" missing")) {
      text = text.substr(0, text.find(':')) + ": its value is missing";
    } else if (text.find("At Most 1 required") != std::string::npos) {
      text = text.substr(0, text.find(':')) + ": given more than once, but it accepts one value";
    }
    throw Error(ErrorCode::BadValue, text, fmt::format("usage: {} --help", full_name(app)));
  }
  const CLI::App& app = chosen_app(root);
  if (const std::vector<std::string> commands = command_names(app); !commands.empty()) {
    throw Error(
        ErrorCode::UnknownCommand, fmt::format("{}: a command is missing", full_name(app)),
        fmt::format("one of: {}; {} --help describes them", list_some(commands, commands.size()), full_name(app)));
  }
}

}  // namespace vernier::cli
