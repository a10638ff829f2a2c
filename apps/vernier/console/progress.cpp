#include "console/progress.h"

#include <fmt/format.h>

#include "base/text.h"

namespace vernier::cli {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kBetweenRedraws{100};
// An estimate from less than this jumps about more than it tells.
constexpr milliseconds kBeforeEstimate{2000};
constexpr double kKnownShare = 0.03;  // of a job, before its end is guessed
constexpr double kUsualTrials = 15;

}  // namespace

std::string duration_text(seconds duration) {
  const auto s = duration.count();
  if (s < 60) return fmt::format("{} s", s);
  if (s < 3600) return fmt::format("{} min {} s", s / 60, s % 60);
  return fmt::format("{} h {} min", s / 3600, s % 3600 / 60);
}

void Progress::step(const JobStep& step) {
  step_ = step;
  done_ = done_at_start_ = 0;
  phase_.clear();
  step_start_.reset();
  phases_of_step_ = 0;
  announce_ = heartbeat_;
}

std::optional<seconds> Progress::left(double share, Time now) {
  late_ = false;
  const double behind = step_->behind + share * step_->share;
  const auto spent = duration_cast<milliseconds>(now - start_);
  if (behind < kKnownShare || spent < kBeforeEstimate) return std::nullopt;
  double left_ms = static_cast<double>(spent.count()) * (1 - behind) / behind;
  if (phases_of_step_ > 1 && step_->behind >= kKnownShare) {
    const auto before = duration_cast<milliseconds>(*step_start_ - start_);
    const double all_ms = static_cast<double>(before.count()) / step_->behind;
    const auto within = duration_cast<milliseconds>(now - *step_start_);
    const double left_of_step = all_ms * step_->share - static_cast<double>(within.count());
    late_ = left_of_step < 0;
    if (late_) return std::nullopt;  // nobody knows how much longer
    left_ms = left_of_step + all_ms * (1 - step_->behind - step_->share);
  }
  return seconds(static_cast<long long>(left_ms / 1000) + 1);
}

std::optional<std::string> Progress::line(const std::string& phase, std::size_t done, std::size_t total, Time now) {
  // A phase that counts anew is another one of the same name: trials follow each other.
  if (phase != phase_ || done <= done_) {
    phase_ = phase;
    phase_start_ = now;
    done_at_start_ = done;
    ++phases_of_step_;
    if (!step_start_) step_start_ = now;
  }
  done_ = done;
  if (now - start_ < silence_) return std::nullopt;
  const bool begins = announce_ || (heartbeat_ && !step_ && phase != announced_);
  if (!begins && last_ && now - *last_ < (redraws_ ? kBetweenRedraws : milliseconds(between_))) return std::nullopt;
  last_ = now;
  announced_ = phase;

  std::string text = step_ ? fmt::format("{} of {}  ", step_->number, step_->of) : "";
  text += printable(announce_ ? step_->name : phase);
  if (announce_) {
    announce_ = false;  // how much there is to do says its next line
  } else if (total == 0) {
    text += fmt::format("  {}", done);
  } else {
    text += fmt::format("  {}/{}  {} %", done, total,
                        static_cast<int>(100.0 * static_cast<double>(done) / static_cast<double>(total)));
  }
  if (step_) {
    // How many trials a search takes nobody knows; it is half way after those that it takes as a rule.
    const double share = total > 0 ? static_cast<double>(done) / static_cast<double>(total)
                                   : static_cast<double>(done) / (static_cast<double>(done) + kUsualTrials);
    const auto rest = left(share, now);
    if (rest) text += fmt::format("  about {} left", duration_text(*rest));
    return late_ ? text + "  longer than usual" : text;
  }
  const auto spent = duration_cast<milliseconds>(now - phase_start_);
  if (done > done_at_start_ && done < total && spent >= kBeforeEstimate) {
    const double left_ms = static_cast<double>(spent.count()) * static_cast<double>(total - done) /
                           static_cast<double>(done - done_at_start_);
    text += fmt::format("  about {} left", duration_text(seconds(static_cast<long long>(left_ms / 1000) + 1)));
  }
  return text;
}

}  // namespace vernier::cli
