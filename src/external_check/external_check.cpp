#include "external_check/external_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <regex>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostOutput = std::size_t{8} << 20U;
// The standard library's expressions recurse with every character: lines are searched in pieces that fit any stack.
constexpr std::size_t kPiece = 8192;
constexpr std::size_t kOverlap = 1024;
// Exit codes (docs/contract.md, 7): usage, input, backend, our own fault. A candidate that cannot be judged is no
// reproduction.
constexpr std::array kOwnFailures{2, 3, 4, 70};
constexpr int kMetInFloat = 5;  // the requirement is met: a candidate may be wholly in FP32

/// Python's "(?i)" in front, which ECMAScript has no word for. Lines are searched one by one: s and m change nothing.
std::string without_flags(const std::string& expression, std::regex::flag_type& flags) {
  const std::size_t end = expression.starts_with("(?") ? expression.find(')') : std::string::npos;
  if (end == std::string::npos || end == 2 || expression.find_first_not_of("ims", 2) != end) return expression;
  if (expression.substr(2, end - 2).find('i') != std::string::npos) flags |= std::regex::icase;
  return expression.substr(end + 1);
}

std::regex compile(const std::string& expression) {
  try {
    std::regex::flag_type flags = std::regex::ECMAScript;
    const std::string plain = without_flags(expression, flags);
    return std::regex(plain, flags);
  } catch (const std::regex_error& error) {
    throw Error(ErrorCode::BadValue,
                fmt::format("‹fail-regex›: '{}' is not a regular expression: {}", printable(expression), error.what()),
                "a backslash in front of ( ) [ ] { } . * + ? | means the character itself");
  }
}

bool found_in_line(std::string_view line, const std::regex& expression) {
  for (std::size_t start = 0;; start += kPiece - kOverlap) {
    const std::string_view piece = line.substr(start, kPiece);
    if (std::regex_search(piece.begin(), piece.end(), expression)) return true;
    if (start + kPiece >= line.size()) return false;
  }
}

bool found_in(std::string_view text, const std::regex& expression) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (found_in_line(text.substr(0, end), expression)) return true;
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return false;
}

/// The first expression that is found; null when none is.
const std::string* found(const std::vector<std::string>& expressions, const std::string& output,
                         const std::string& errors) {
  for (const std::string& expression : expressions) {
    const std::regex compiled = compile(expression);
    if (found_in(output, compiled) || found_in(errors, compiled)) return &expression;
  }
  return nullptr;
}

void append_end(std::string& text, std::string_view part) {
  text += part;
  if (text.size() > 2 * kMostOutput) text.erase(0, text.size() - kMostOutput);
}

bool holds(const std::vector<int>& codes, int code) {
  return std::find(codes.begin(), codes.end(), code) != codes.end();
}

}  // namespace

std::string_view verdict_text(Verdict verdict) {
  switch (verdict) {
    case Verdict::Good:
      return "good";
    case Verdict::Bad:
      return "bad";
    case Verdict::TimedOut:
      return "timed out";
    case Verdict::Unstable:
      return "unstable";
    case Verdict::Invalid:
      break;
  }
  return "invalid";
}

bool is_vernier(const std::string& program) {
  if (fs::path(program).filename() == "vernier") return true;
  std::error_code unknown;
  return program.find('/') != std::string::npos && fs::equivalent(program, "/proc/self/exe", unknown);
}

void validate(const CheckOptions& options) {
  if (!options.fail_codes.empty() && !options.ignored_codes.empty()) {
    throw Error(ErrorCode::Contradiction, "‹fail-code› and ‹ignore-fail-code›: only one of them can be meant",
                "‹fail-code› lists all bad exit codes; ‹ignore-fail-code› lists good ones in addition to 0");
  }
  for (const std::string& expression : options.fail_regexes) compile(expression);
  if (!options.command.empty() && options.command.front().empty()) {
    throw Error(ErrorCode::BadValue, "‹check›: the name of the program is empty");
  }
}

CheckAnswer judge(const CheckOptions& options, const ProcessEnd& end, std::string output, std::string errors) {
  CheckAnswer answer;
  answer.why = end_text(end);
  answer.output = std::move(output);
  answer.errors = std::move(errors);
  if (end.timed_out || end.interrupted) {
    answer.verdict = end.timed_out ? Verdict::TimedOut : Verdict::Invalid;
    return answer;
  }
  const int code = end.signal != 0 ? -end.signal : end.exit_code;
  answer.code = code;
  const bool own = !options.command.empty() && is_vernier(options.command.front()) && !holds(options.fail_codes, code);
  if (own && (code < 0 || std::find(kOwnFailures.begin(), kOwnFailures.end(), code) != kOwnFailures.end())) {
    answer.why += fmt::format(", which means that vernier has no verdict; ‹fail-code› {} counts it as bad", code);
    return answer;
  }
  answer.verdict = Verdict::Good;
  if (holds(options.ignored_codes, code)) return answer;
  const bool met = code == 0 || (own && code == kMetInFloat);
  const bool by_code = options.fail_codes.empty() ? !met : holds(options.fail_codes, code);
  if (options.fail_regexes.empty()) {
    if (by_code) answer.verdict = Verdict::Bad;
    return answer;
  }
  const std::string* expression = found(options.fail_regexes, answer.output, answer.errors);
  if (expression == nullptr) return answer;
  if (!options.fail_codes.empty() && !by_code) return answer;
  answer.verdict = Verdict::Bad;
  answer.why += fmt::format(" and '{}' was found in its output", printable(*expression));
  return answer;
}

CheckAnswer run_check(const CheckOptions& options, const CheckSinks& sinks, const std::function<bool()>& interrupted) {
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  if (options.command.empty()) {
    const std::optional<bool> good =
        sinks.ask ? sinks.ask(fmt::format("Did '{}'", options.candidate.string())) : std::nullopt;
    if (!good) {
      throw Error(ErrorKind::Interrupted, "nobody says whether the candidate is good: the input has ended");
    }
    CheckAnswer answer;
    answer.verdict = *good ? Verdict::Good : Verdict::Bad;
    answer.why = "you said so";
    answer.seconds = seconds();
    return answer;
  }
  std::string output;
  std::string errors;
  ProcessOptions process;
  process.output = [&](std::string_view part) { append_end(output, part); };
  process.errors = [&](std::string_view part) { append_end(errors, part); };
  process.timeout_seconds = options.timeout_seconds;
  process.interrupted = interrupted;
  const ProcessEnd end = run_process(options.command, process);
  if (end.interrupted) throw Error(ErrorKind::Interrupted, "interrupted");
  CheckAnswer answer = judge(options, end, std::move(output), std::move(errors));
  answer.seconds = seconds();
  return answer;
}

}  // namespace vernier
