#include "options/check_options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <optional>

#include "console/console.h"
#include "options/options.h"
#include "options/parse_values.h"
#include "vernier/error.h"

namespace vernier::cli {
namespace {

constexpr const char* kCheck = "Check";
constexpr const char* kArtifacts = "Artifacts and replay";

/// Exit codes, or minus a signal as Python writes it.
std::vector<int> parse_codes(const char* option, const std::vector<std::string>& texts) {
  std::vector<int> codes;
  for (const std::string& text : texts) {
    const double code = parse_number(option, text);
    if (code != static_cast<int>(code) || code < -64 || code > 255) {
      throw Error(ErrorKind::Usage, fmt::format("{}: '{}' is no exit code", option, text),
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
  add_value(app, "--check,--check-inference", command_, "CMD...",
            "The check: a program and its arguments, to the end of the line; started without a shell. Exit code 0 is "
            "good. 2, 3, 4 and 70 of vernier itself mean that it could not judge (default: you are asked)")
      .group(kCheck);
  add_values(app, "--fail-code,--fail-returncode", fail_codes_, "N",
             "Only these exit codes are bad; -N for signal N (default: every code but 0)")
      .group(kCheck);
  add_values(app, "--ignore-fail-code,--ignore-fail-returncode", ignored_codes_, "N",
             "These exit codes are good (default: only 0)")
      .group(kCheck);
  add_values(app, "--fail-regex", fail_regexes_, "RE",
             "Bad when a line of the check's output holds this ECMAScript expression, in any case behind (?i); with "
             "--fail-code both are needed (default: none)")
      .group(kCheck);
  timeout_ = find_option(app, "--timeout");
  if (!timeout_) {
    timeout_ = add_value(app, "--timeout", timeout_text_, "SECONDS",
                         "Time for one check; one that takes longer is neither good nor bad (default: none)")
                   .group(kCheck);
  }
  add_flag(app, "--show-output", show_output_, "Show the output of every check").group(kCheck);
  add_flag(app, "--hide-fail-output", hide_fail_output_, "Show the output of no check (default: of those not good)")
      .group(kCheck);
  if (!candidate.empty()) {
    add_value(app, "--iter-artifact,--intermediate-artifact", candidate_, "FILE",
              "Where the check finds what it judges (default: " + candidate + ")")
        .writes()
        .group(kArtifacts);
    add_flag(app, "--no-remove-intermediate", keep_, "Keep the last of these files").group(kArtifacts);
  }
  add_value(app, "--iter-info,--iteration-info", iteration_info_, "FILE",
            "Write {\"iteration\": N} here before each check (default: nowhere)")
      .writes()
      .group(kArtifacts);
  add_values(app, "--artifacts", artifacts_, "PATH",
             "What a check leaves behind: moved to good/, bad/ or invalid/ (default: none)")
      .writes()
      .group(kArtifacts);
  add_value(app, "--art-dir,--artifacts-dir", artifacts_dir_, "DIR",
            "Where they are moved to (default: polygraphy_artifacts)")
      .writes()
      .group(kArtifacts);
  add_value(app, "--load-debug-replay", load_replay_, "FILE",
            "Believe the verdicts of an earlier run on the same model (default: none)")
      .group(kArtifacts);
  add_value(app, "--save-debug-replay", save_replay_, "FILE",
            "Record verdicts here (default: polygraphy_debug_replay.json)")
      .writes()
      .group(kArtifacts);
}

CheckOptions CheckGroup::values(bool built_in) const {
  CheckOptions options;
  options.command = words_of(command_);
  if (!command_.empty() && options.command.empty()) {
    throw Error(ErrorKind::Usage, "--check: the command is missing", "--check python check.py, at the end of the line");
  }
  if (command_.empty() && !built_in && !can_be_asked()) {
    throw Error(ErrorKind::Usage, "--check is missing, and there is no terminal to ask at",
                "--check CMD..., at the end of the line; exit code 0 is good");
  }
  options.fail_codes = parse_codes("--fail-code", fail_codes_);
  options.ignored_codes = parse_codes("--ignore-fail-code", ignored_codes_);
  options.fail_regexes = fail_regexes_;
  if (show_output_ && hide_fail_output_) {
    throw Error(ErrorKind::Usage, "--show-output and --hide-fail-output: only one of them can be meant");
  }
  options.show = show_output_ ? CheckOutput::Always : hide_fail_output_ ? CheckOutput::Never : CheckOutput::WhenBad;
  if (timeout_.given()) {
    options.timeout_seconds = parse_number("--timeout", timeout_.last());
    if (options.timeout_seconds <= 0) {
      throw Error(ErrorKind::Usage, fmt::format("--timeout: {} s leave no time at all", timeout_.last()));
    }
  }
  options.candidate = candidate_;
  options.keep_candidate = keep_;
  options.iteration_info = iteration_info_;
  options.artifacts.assign(artifacts_.begin(), artifacts_.end());
  options.artifacts_dir = artifacts_dir_;
  options.load_replay = load_replay_;
  options.save_replay = save_replay_;
  return options;
}

CheckSinks check_sinks(Console& console) {
  CheckSinks sinks;
  sinks.say = [&console](const std::string& text) {
    if (!console.shows_progress()) return;
    console.end_progress();
    fmt::print(stderr, "{}", text);
    std::fflush(stderr);
  };
  sinks.ask = [&console](const std::string& question) -> std::optional<bool> {
    console.end_progress();
    // Whoever has left is not asked again, whatever else the search would like to know.
    for (std::string answer; std::cin.good();) {
      fmt::print(stderr, "{} [p]ass or [f]ail: ", question);
      std::fflush(stderr);
      if (!std::getline(std::cin, answer)) break;
      if (answer == "p" || answer == "P" || answer == "pass") return true;
      if (answer == "f" || answer == "F" || answer == "fail") return false;
    }
    return std::nullopt;
  };
  return sinks;
}

}  // namespace vernier::cli
