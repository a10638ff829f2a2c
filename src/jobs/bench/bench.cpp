// Models on runners, timed in turns.

#include "vernier/bench.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <ctime>
#include <filesystem>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/machine.h"
#include "base/median.h"
#include "base/version.h"
#include "jobs/bench/candidate.h"
#include "jobs/bench/latency_statistics.h"
#include "jobs/bench/make_candidates.h"
#include "jobs/common/output_files.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {
namespace {

constexpr std::size_t kLayerRuns = 30;
constexpr double kCopiesSeconds = 0.2;
constexpr std::size_t kCopies = 10;
constexpr double kShort = 0.005;  // seconds: what is shorter meets caches that another row filled

void check(const BenchOptions& options) {
  const auto refuse = [](const char* what) { throw Error(ErrorCode::BadValue, what); };
  if (options.runners.empty()) refuse("nothing to time: no model was given");
  if (options.iterations == 0 && !(options.seconds > 0))
    refuse("no iterations and no duration: nothing would be timed");
  if (!(options.warm_up_ms >= 0) || !(options.seconds >= 0)) refuse("warm-up and duration must not be below 0");
  for (const double percent : options.percentiles) {
    if (!(percent >= 0 && percent <= 100)) refuse("percentiles are from 0 to 100");
  }
  for (const std::int64_t batch : options.batches) {
    if (batch < 1) refuse("a batch is at least 1");
  }
}

/// Before anything is built, which may take minutes.
void keep_what_is_read(const BenchOptions& options) {
  std::vector<std::filesystem::path> read = source_files(options.measure);
  for (const RunnerOptions& runner : options.runners) read.push_back(runner.model.file());
  if (!options.engine.save_engine.empty()) refuse_to_overwrite(options.engine.save_engine, read);
}

class Bench {
 public:
  Bench(const BenchOptions& options, const JobSinks& sinks) : options_(options), sinks_(sinks) {}

  BenchReport run() {
    check(options_);
    keep_what_is_read(options_);
    describe();
    candidates_ = make_candidates(options_, sinks_, report_);
    warm_up();
    time_in_turns();
    time_alone();
    compare();
    if (options_.copies) time_copies();
    if (options_.layers) time_layers();
    for (const auto& candidate : candidates_) report_.rows.push_back(std::move(candidate->row()));
    return std::move(report_);
  }

 private:
  void describe() {
    report_.command = options_.command;
    report_.vernier_version = vernier_version();
    report_.machine = machine_text();
    report_.date = fmt::format("{:%Y-%m-%d}", fmt::localtime(std::time(nullptr)));
    report_.warm_up_ms = options_.warm_up_ms;
  }

  void stop_if_asked() const {
    if (sinks_.is_interrupted()) throw Error(ErrorKind::Interrupted, "interrupted");
  }

  /// Each runs at least once; what that takes decides how many rounds there are.
  void warm_up() {
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      stop_if_asked();
      if (sinks_.progress) sinks_.progress("warm-up", i, candidates_.size());
      std::vector<double> times = candidates_[i]->time({1, options_.warm_up_ms / 1000, 0});
      usual_.push_back(median(std::move(times)));
    }
  }

  void time_in_turns() {
    std::vector<std::size_t> order;
    double slowest = 0;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (candidates_[i]->has_one_turn()) continue;
      order.push_back(i);
      slowest = std::max(slowest, usual_[i]);
    }
    rounds_.resize(candidates_.size());
    if (order.empty()) return;
    const Schedule schedule = schedule_of(slowest, options_.iterations, options_.seconds);
    for (std::size_t round = 0; round < schedule.rounds; ++round) {
      if (sinks_.progress) sinks_.progress("timing", round, schedule.rounds);
      for (const std::size_t i : order) {
        stop_if_asked();
        const std::size_t skip = order.size() > 1 && usual_[i] < kShort ? 1 : 0;
        take(i, candidates_[i]->time({schedule.least, schedule.seconds, skip}));
      }
      std::ranges::reverse(order);
    }
    for (const std::size_t i : order) finish(i);
  }

  /// Each against the first of its batch.
  void compare() {
    std::map<std::int64_t, std::size_t> firsts;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      BenchRow& row = candidates_[i]->row();
      const std::size_t first = firsts.emplace(row.batch, i).first->second;
      if (first == i) continue;
      const bool in_turns = !candidates_[i]->has_one_turn() && !candidates_[first]->has_one_turn();
      const double ratio = row.latency.median / candidates_[first]->row().latency.median;
      row.ratio = in_turns ? ratio_of(rounds_[i], rounds_[first]) : TimeRatio{ratio, ratio, ratio};
    }
  }

  /// Those that have a single turn, one after the other: without rounds only their medians compare.
  void time_alone() {
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (!candidates_[i]->has_one_turn()) continue;
      stop_if_asked();
      take(i, candidates_[i]->time({std::max<std::size_t>(options_.iterations, 1), options_.seconds, 1}));
      finish(i);
      report_.notes.push_back({"timed-by-itself", {{"engine", candidates_[i]->row().engine}}});
    }
  }

  void time_copies() {
    for (const auto& candidate : candidates_) {
      if (!candidate->row().device_clock) continue;
      stop_if_asked();
      std::vector<double> times = candidate->time_with_copies({kCopies, std::min(kCopiesSeconds, options_.seconds), 1});
      if (!times.empty()) candidate->row().with_copies_ms = 1000 * median(std::move(times));
    }
  }

  void time_layers() {
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      stop_if_asked();
      if (sinks_.progress) sinks_.progress("layers", i, candidates_.size());
      BenchRow& row = candidates_[i]->row();
      row.layers = candidates_[i]->layers(kLayerRuns);
      row.profiled = kLayerRuns;
    }
  }

  void take(std::size_t index, std::vector<double> seconds) {
    for (double& one : seconds) one *= 1000;
    rounds_[index].push_back(std::move(seconds));
  }

  void finish(std::size_t index) {
    BenchRow& row = candidates_[index]->row();
    row.rounds = rounds_[index].size();
    for (const std::vector<double>& round : rounds_[index]) {
      row.milliseconds.insert(row.milliseconds.end(), round.begin(), round.end());
    }
    row.iterations = row.milliseconds.size();
    row.latency = latency_of(row.milliseconds, options_.percentiles);
    row.samples_per_second = 1000 * static_cast<double>(row.batch) / row.latency.median;
  }

  const BenchOptions& options_;
  const JobSinks& sinks_;
  BenchReport report_;
  std::vector<std::unique_ptr<Candidate>> candidates_;
  std::vector<double> usual_;  // seconds, of the warm-up
  std::vector<Rounds> rounds_;
};

}  // namespace

BenchReport bench(const BenchOptions& options, const JobSinks& sinks) { return Bench(options, sinks).run(); }

}  // namespace vernier
