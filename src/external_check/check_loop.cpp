#include "external_check/check_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <optional>

#include "base/file.h"
#include "base/file_lock.h"
#include "base/text.h"
#include "external_check/artifacts.h"
#include "json/python_json.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/marks.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

// What shells say when they cannot start a program.
constexpr int kNotFound = 127;
constexpr int kNotExecutable = 126;

/// "replay.json" -> "replay_skip_current.json": as if the iteration that runs had failed, so that one that takes the
/// machine down can be skipped.
fs::path skip_current(const fs::path& replay) {
  return replay.parent_path() / (replay.stem().string() + "_skip_current" + replay.extension().string());
}

std::string captured(const char* stream, const std::string& text) {
  if (text.empty()) return {};
  return fmt::format("========== CAPTURED {} ==========\n{}{}", stream, text, text.ends_with('\n') ? "" : "\n");
}

}  // namespace

CheckLoop::CheckLoop(const CheckOptions& options, const CheckIdentity& identity, const JobSinks& sinks,
                     const CheckSinks& check_sinks)
    : options_(options), sinks_(sinks), check_sinks_(check_sinks), replay_(identity) {
  validate(options_);
  std::error_code ignored;
  if (!options_.candidate.empty()) {
    std::optional<Descriptor> held = hold_name(options_.candidate);
    if (!held) {
      throw Error(ErrorCode::InUse,
                  fmt::format("{}: another job writes its candidates to this file", options_.candidate.string()),
                  "wait for it, or name another file with ‹iter-artifact›, in the check too");
    }
    lock_ = *std::move(held);
  }
  if (!options_.candidate.empty() && fs::exists(options_.candidate, ignored)) {
    throw Error(ErrorCode::WouldOverwrite,
                fmt::format("{}: already exists, and each candidate would overwrite it", options_.candidate.string()),
                "remove it, or name another one with ‹iter-artifact›, in the check too");
  }
  if (!options_.save_replay.empty() && options_.save_replay != options_.load_replay) {
    keep_foreign_replay(options_.save_replay, identity, [this](const Note& note) { warn_once(note); });
  }
  if (!options_.load_replay.empty()) {
    replay_.load(options_.load_replay, [this](const Note& note) { warn_once(note); });
  }
}

CheckLoop::~CheckLoop() { clean_up(/*last=*/true); }

void CheckLoop::clean_up(bool last) const noexcept {
  std::error_code best_effort;
  if (wrote_ && !options_.candidate.empty() && !(last && options_.keep_candidate)) {
    fs::remove(options_.candidate, best_effort);
  }
  if (!options_.iteration_info.empty() && iterations_ > 0) fs::remove(options_.iteration_info, best_effort);
  if (!options_.save_replay.empty()) fs::remove(skip_current(options_.save_replay), best_effort);
}

void CheckLoop::say(const std::string& text) const {
  if (check_sinks_.say) check_sinks_.say(text);
}

void CheckLoop::warn_once(const Note& note) {
  if (std::ranges::find(warned_, note) != warned_.end()) return;
  warned_.push_back(note);
  sinks_.warn(note);
}

void CheckLoop::show(const CheckAnswer& answer) const {
  const bool good = answer.verdict == Verdict::Good;
  if (options_.show == CheckOutput::Never || (good && options_.show == CheckOutput::WhenBad)) return;
  const std::string text = captured("STDOUT", answer.output) + captured("STDERR", answer.errors);
  if (!text.empty()) say(text);
}

CheckAnswer CheckLoop::ask(const std::string& key, const Json& state,
                           const std::function<void(const fs::path&)>& write) {
  if (write) {
    wrote_ = true;
    try {
      write(options_.candidate);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::Input && error.kind() != ErrorKind::Backend) throw;
      CheckAnswer invalid;
      invalid.why = error.what();
      return invalid;
    }
  }
  if (!options_.iteration_info.empty()) {
    replace_file(options_.iteration_info, python_json(Json::Object{{"iteration", iterations_}}));
  }
  if (!options_.save_replay.empty()) {
    Replay failed = replay_;
    failed.record(key, iterations_, Verdict::Bad, state);
    failed.save(skip_current(options_.save_replay));
  }
  ++checks_run_;
  CheckAnswer answer = run_check(options_, check_sinks_, sinks_.interrupted);
  show(answer);
  if (answer.code == kNotFound || answer.code == kNotExecutable) {
    warn_once({"check-like-missing-program", {}});
  }
  return answer;
}

CheckLoop::Result CheckLoop::check(const Json& state, const std::string& label,
                                   const std::function<void(const fs::path&)>& write) {
  if (sinks_.is_interrupted()) throw Error(ErrorKind::Interrupted, "interrupted");
  const std::string suffix = fmt::format("N{}{}{}", iterations_, label.empty() ? "" : "_", label);
  const std::string key = "_" + suffix;
  Result result;
  if (const std::optional<Verdict> known = replay_.find(key, state)) {
    result = {*known, "as recorded", true};
  } else {
    const CheckAnswer answer = ask(key, state, write);
    result = {answer.verdict, answer.why, false};
    for (const fs::path& missing : sort_artifacts(options_, answer.verdict, suffix, std::time(nullptr))) {
      warn_once({"artifact-missing", {{"file", missing.string()}}});
    }
    if (!(options_.keep_candidate && write)) clean_up(/*last=*/false);
  }
  say(fmt::format("iteration {} | {} | {}\n", iterations_, verdict_text(result.verdict),
                  command_words(printable_text(result.why))));
  replay_.record(key, iterations_, result.verdict, state);
  if (!options_.save_replay.empty()) replay_.save(options_.save_replay);
  ++verdicts_[result.verdict];
  ++iterations_;
  return result;
}

std::size_t CheckLoop::count(Verdict verdict) const {
  const auto found = verdicts_.find(verdict);
  return found == verdicts_.end() ? 0 : found->second;
}

std::string CheckLoop::summary() const {
  const std::size_t good = count(Verdict::Good);
  const double rate = iterations_ == 0 ? 0 : 100.0 * static_cast<double>(good) / static_cast<double>(iterations_);
  std::string text = fmt::format("Finished {} iteration(s) | Passed: {}/{} | Pass Rate: {:.1f}%", iterations_, good,
                                 iterations_, rate);
  if (const std::size_t invalid = count(Verdict::Invalid); invalid > 0) {
    text += fmt::format(" | Invalid: {}", invalid);
  }
  if (const std::size_t late = count(Verdict::TimedOut); late > 0) text += fmt::format(" | Timed out: {}", late);
  return text;
}

}  // namespace vernier
