#include "options/check_options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <optional>
#include <vector>

#include "console/console.h"
#include "options/parse_values.h"
#include "options/rows.h"
#include "table/check.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier::cli {
namespace {

/// Exit codes, or minus a signal as Python writes it.
std::vector<int> parse_codes(const char* option, const std::vector<std::string>& texts) {
  std::vector<int> codes;
  for (const std::string& text : texts) {
    const double code = parse_number(option, text);
    if (code != static_cast<int>(code) || code < -64 || code > 255) {
      throw Error(ErrorCode::BadValue, fmt::format("{}: '{}' is not an exit code", option, text),
                  "0 to 255; -N for a program that was killed by signal N");
    }
    codes.push_back(static_cast<int>(code));
  }
  return codes;
}

/// "\0python\0check.py" -> {"python", "check.py"}; command_line.cpp makes them one.
std::vector<std::string> words_of(const std::string& bundle) {
  std::vector<std::string> words;
  for (std::size_t start = 0; start < bundle.size();) {
    const std::size_t end = std::min(bundle.find('\0', start + 1), bundle.size());
    words.push_back(bundle.substr(start + 1, end - start - 1));
    start = end;
  }
  return words;
}

/// At a terminal, or through a pipe or a file with the answers.
bool can_be_asked() {
  if (::isatty(STDIN_FILENO) != 0) return true;
  std::error_code unknown;
  const auto type = std::filesystem::status("/proc/self/fd/0", unknown).type();
  return type == std::filesystem::file_type::fifo || type == std::filesystem::file_type::regular;
}

}  // namespace

void CheckGroup::add(CLI::App& app, const std::string& candidate) {
  candidate_ = candidate;
  table::kCheck.each([&](const auto& row) {
    const bool one = OptionNames(row.words.names).option == "--check";  // command_line.cpp makes its words one
    add_words(app, row.words, one ? Arity::One : Arity::Many, "", table::kCheck.group, texts_);
  });
  timeout_ = find_option(app, "--timeout");
  if (!timeout_) timeout_ = add_row(app, table::kCheckTimeout, table::kCheck.group, texts_);
  add_rows(app, table::kCheckOutput, texts_);
  if (!candidate.empty()) {
    auto row = table::kCandidate;
    const std::string help = "The file that the check reads (default: " + candidate + ")";
    row.words.help = help.c_str();
    add_words(app, row.words, Arity::One, candidate, table::kArtifacts.group, texts_);
    add_row(app, table::kKeepCandidate, table::kArtifacts.group, texts_);
  }
  add_rows(app, table::kArtifacts, texts_);
}

CheckOptions CheckGroup::values(bool built_in) const {
  CheckOptions options;
  options.command = words_of(texts_.last("--check"));
  if (given() && options.command.empty()) {
    throw Error(ErrorCode::MissingArgument, "--check: the command is missing",
                "--check python check.py, at the end of the line");
  }
  if (!given() && !built_in && !can_be_asked()) {
    throw Error(ErrorCode::MissingArgument, "--check is missing, and there is no terminal to ask on",
                "--check CMD..., at the end of the line; exit code 0 is good");
  }
  options.fail_codes = parse_codes("--fail-code", texts_.all("--fail-code"));
  options.ignored_codes = parse_codes("--ignore-fail-code", texts_.all("--ignore-fail-code"));
  const bool always = texts_.given("--show-output"), never = texts_.given("--hide-fail-output");
  if (always && never) {
    throw Error(ErrorCode::Contradiction, "--show-output and --hide-fail-output contradict each other");
  }
  options.show = always ? CheckOutput::Always : never ? CheckOutput::Never : CheckOutput::WhenBad;
  if (timeout_.given()) {
    options.timeout_seconds = parse_number("--timeout", timeout_.last());
    if (options.timeout_seconds <= 0) {
      throw Error(ErrorCode::BadValue, fmt::format("--timeout: {} s is not a time limit", timeout_.last()));
    }
  }
  options.candidate = candidate_;
  read_value(table::kCandidate, texts_, options.candidate);
  read_value(table::kKeepCandidate, texts_, options.keep_candidate);
  read_rows(table::kCheck, texts_, options);
  read_rows(table::kArtifacts, texts_, options);
  return options;
}

CheckSinks check_sinks(Console& console, bool json) {
  CheckSinks sinks;
  sinks.say = [&console](const std::string& text) {
    console.log_result(text);
    if (!console.shows_progress()) return;
    console.end_progress();
    fmt::print(stderr, "{}", text);
    std::fflush(stderr);
  };
  sinks.ask = [&console, json](const std::string& question) -> std::optional<bool> {
    console.end_progress();
    console.log_result(question);
    // Whoever has left is not asked again, whatever else the search would like to know.
    for (std::string answer; std::cin.good();) {
      std::FILE* const to = json ? stderr : stdout;
      fmt::print(to, "{} [p]ass or [f]ail? ", question);
      std::fflush(to);
      if (!std::getline(std::cin, answer)) break;
      if (answer == "p" || answer == "P" || answer == "pass") return true;
      if (answer == "f" || answer == "F" || answer == "fail") return false;
    }
    return std::nullopt;
  };
  return sinks;
}

}  // namespace vernier::cli
