#include "console/help.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <sstream>
#include <string_view>
#include <vector>

#include "base/layout.h"
#include "console/command_line.h"
#include "console/console.h"

namespace vernier::cli {
namespace {

constexpr std::size_t kWidth = 100;  // where there is no terminal
constexpr std::size_t kColumn = 34;  // where descriptions start

/// That of the terminal, as far as lines of it can be read.
std::size_t help_width() { return std::clamp<std::size_t>(terminal_width(STDOUT_FILENO).value_or(kWidth), 60, 120); }

std::string row(const std::string& left, const std::string& description, std::size_t width) {
  std::string text = "  " + left;
  if (text.size() + 2 > kColumn) {
    text += "\n" + std::string(kColumn, ' ');
  } else {
    text.resize(kColumn, ' ');
  }
  return text + wrap(description, kColumn, width) + "\n";
}

// In lines: what is longer is not read, but searched.
constexpr std::size_t kTwoScreens = 60;
constexpr std::size_t kMostOften = 17;

/// In the order in which they are needed: what is measured, on what, against what, and where the result goes.
constexpr std::array kOften{"--onnxrt",
                            "--sim",
                            "--trt",
                            "--int8",
                            "--fp16",
                            "--bf16",
                            "--fp8",
                            "--precision",
                            "--quantize-mode",
                            "--plan",
                            "--data",
                            "--image",
                            "--min-sqnr",
                            "--labels",
                            "--compare",
                            "--atol",
                            "--save-outputs",
                            "--load-outputs",
                            "--onnx-outputs",
                            "--check",
                            "--mode",
                            "--check-sim",
                            "--inputs",
                            "--outputs",
                            "--fold-constants",
                            "--stage",
                            "--task",
                            "--target",
                            "--on",
                            "--calibration-data",
                            "--calibration-cache",
                            "--layer-precisions",
                            "--nodes-to-exclude",
                            "--output",
                            "--json",
                            "--junit"};

/// "Samples to measure on: .npy, .npz, ... (default: random data)" -> "Samples to measure on". What is left is a clause
/// that says something by itself: "simple: absolute tolerance" stays whole.
std::string gist(const std::string& description) {
  std::size_t end = description.size();
  for (const char* stop : {"; ", ". ", " (default", " (required"}) end = std::min(end, description.find(stop));
  std::string text = description.substr(0, end);
  constexpr std::ptrdiff_t kSpacesOfAClause = 3;
  if (const std::size_t colon = text.find(": "); colon != std::string::npos) {
    const auto head = text.begin() + static_cast<std::ptrdiff_t>(colon);
    if (std::count(text.begin(), head, ' ') >= kSpacesOfAClause) text.erase(head, text.end());
  }
  if (text.ends_with(')')) text.erase(text.rfind(" ("));
  return text;
}

std::string short_name_of(const CLI::Option& option) {
  std::string text = option.get_snames().empty() ? "" : "-" + option.get_snames().front() + ", ";
  text += "--" + option.get_lnames().front();
  return option.get_expected_max() == 0 ? text : text + " " + option.get_type_name();
}

using Options = std::vector<const CLI::Option*>;

/// Those with a name of `names` ("--data", "-o"), in that order.
template <typename Names>
Options options_named(const Options& options, const Names& names) {
  Options found;
  for (const auto& name : names) {
    const auto option = std::find_if(options.begin(), options.end(), [&](const CLI::Option* each) {
      return !each->get_positional() && !each->get_group().empty() && each->check_name(name);
    });
    if (option != options.end() && std::ranges::find(found, *option) == found.end()) found.push_back(*option);
  }
  return found;
}

std::string most_used(const Options& options, const std::string& footer, std::size_t width) {
  const Options often = options_named(options, kOften);
  const Options needed = options_named(options, options_of_example(footer));
  // Those of the example, and as many others as there is room for.
  std::size_t left = kMostOften - std::min(kMostOften, needed.size());
  std::string rows;
  const auto add = [&](const CLI::Option& option) {
    rows += row(short_name_of(option), gist(option.get_description()), width);
  };
  for (const CLI::Option* option : often) {
    const bool in_example = std::ranges::find(needed, option) != needed.end();
    if (!in_example && left == 0) continue;
    if (!in_example) --left;
    add(*option);
  }
  for (const CLI::Option* option : needed) {
    if (std::ranges::find(often, option) == often.end()) add(*option);
  }
  return rows;
}

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

/// The first example and the exit codes.
std::string short_footer(const std::string& footer, std::size_t width) {
  std::string text;
  std::istringstream lines(footer);
  bool example = false;
  for (std::string line; std::getline(lines, line);) {
    const bool is_example = line.starts_with("Example: ");
    if ((is_example && !example) || line.starts_with("Exit code: ")) text += wrap(line, 0, width) + "\n";
    example = example || is_example;
  }
  return text;
}

}  // namespace

std::vector<std::string> options_of_example(const std::string& footer) {
  std::vector<std::string> names;
  std::istringstream lines(footer);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("Example: ")) continue;
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      if (word.starts_with('-')) names.push_back(word.substr(0, word.find('=')));
    }
    break;
  }
  return names;
}

std::string names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  std::string text = fmt::format("{}", fmt::join(names, ", "));
  const bool is_flag = option.get_expected_max() == 0;
  if (!is_flag) text += " " + option.get_type_name();
  if (!is_flag && option.get_items_expected_max() > 1) text += " ...";
  return text;
}

std::string wrap(std::string_view text, std::size_t indent, std::size_t width) {
  std::string wrapped;
  std::size_t column = indent;
  for (std::string_view word = take_word(text); !word.empty(); word = take_word(text)) {
    if (column > indent && column + 1 + word.size() > width) {
      wrapped += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      wrapped += " ";
      ++column;
    }
    wrapped += word;
    column += word.size();
  }
  return wrapped;
}

std::string fit_to_terminal(const std::string& text) {
  constexpr std::size_t kWidestLabel = 24;
  const std::size_t width = help_width();
  std::istringstream lines(text);
  std::string fit;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t start = std::min(line.find_first_not_of(' '), line.size());
    const std::string_view words = std::string_view(line).substr(start);
    const bool is_command = words.starts_with("vernier ") || words.starts_with("$ ");
    if (is_command || display_width(line) <= width) {
      fit += line + "\n";
      continue;
    }
    const std::size_t gap = words.find("  ");
    const std::size_t behind = gap == std::string_view::npos ? 0 : words.find_first_not_of(' ', gap);
    const std::size_t label = start + behind <= kWidestLabel ? start + behind : start;
    fit += vernier::wrap(line.substr(label), width, line.substr(0, label));
  }
  return fit;
}

std::string HelpFormatter::make_help(const CLI::App* app, std::string /*name*/, CLI::AppFormatMode mode) const {
  const std::vector<const CLI::App*> commands = app->get_subcommands([](const CLI::App*) { return true; });
  const std::vector<const CLI::Option*> options = app->get_options([](const CLI::Option*) { return true; });

  const std::size_t width = help_width();
  std::string usage = full_name(*app);
  std::string arguments;
  for (const CLI::Option* option : options) {
    if (!option->get_positional()) continue;
    usage += " " + option->get_name(/*positional=*/true);
    arguments += row(option->get_name(/*positional=*/true), option->get_description(), width);
  }
  usage += commands.empty() ? " [options]" : " COMMAND ...";

  std::string text = fmt::format("usage: {}\n\n{}\n", usage, wrap(app->get_description(), 0, width));
  if (!arguments.empty()) text += "\nArguments:\n" + arguments;
  if (!commands.empty()) {
    text += "\nCommands:\n";
    for (const CLI::App* command : commands) {
      std::string description = command->get_description();
      std::vector<std::string> parts;
      for (const CLI::App* part : command->get_subcommands([](const CLI::App*) { return true; })) {
        parts.push_back(part->get_name());
      }
      if (!parts.empty()) description += fmt::format(": {}", fmt::join(parts, ", "));
      text += row(command->get_name(), description, width);
    }
  }
  const std::string top = text;
  for (const std::string& group : app->get_groups()) {
    if (group.empty()) continue;  // hidden
    std::string rows;
    for (const CLI::Option* option : options) {
      if (!option->get_positional() && option->get_group() == group) {
        rows += row(names_of(*option), option->get_description(), width);
      }
    }
    if (!rows.empty()) text += fmt::format("\n{}:\n{}", group, rows);
  }
  std::istringstream footer(app->get_footer());
  if (footer.peek() != EOF) text += '\n';
  for (std::string line; std::getline(footer, line);) text += wrap(line, 0, width) + "\n";
  if (mode == CLI::AppFormatMode::All || !commands.empty() || lines_of(text) <= kTwoScreens) return text;
  const auto shown = std::count_if(options.begin(), options.end(), [](const CLI::Option* option) {
    return !option->get_positional() && !option->get_group().empty();
  });
  return fmt::format("{}\nUsed most:\n{}\n{}{} --help-all explains all {} options.\n", top,
                     most_used(options, app->get_footer(), width), short_footer(app->get_footer(), width),
                     full_name(*app), shown);
}

}  // namespace vernier::cli
