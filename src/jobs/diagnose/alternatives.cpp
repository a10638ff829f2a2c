#include "jobs/diagnose/alternatives.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "distributed/ranks.h"
#include "vernier/error.h"
#include "vernier/format.h"
#include "vernier/precision.h"
#include "vernier/report/causes.h"
#include "vernier/report/kept_set.h"
#include "vernier/report/outcome.h"
#include "vernier/target.h"

namespace vernier {
namespace {

constexpr double kTimesTheSearch = 2;  // for all of them, so that three times is the whole
constexpr double kLeastSeconds = 10;   // tiny networks: sessions take as long whatever is in them
constexpr double kToVerify = 0.2;      // of a way's time, for the file behind its search

struct Candidate {
  std::string change;
  DiagnoseOptions options;
  bool repairs = false;
};

std::vector<Target> other_targets(Target target) {
  std::vector<Target> others;
  for (const Target other : {Target::OpenVino, Target::TensorRt, Target::OnnxRuntime}) {
    if (other != target) others.push_back(other);
  }
  return others;
}

/// The format that comes to mind next, with the option that asks for it.
std::pair<Format, const char*> other_format(const std::vector<Format>& low) {
  if (low == std::vector{Format::Float16}) return {Format::BFloat16, "‹bf16›"};
  return {Format::Float16, "‹fp16›"};
}

std::vector<Candidate> candidates(const DiagnoseOptions& asked) {
  DiagnoseOptions same = asked;
  same.output.clear();
  same.compile.reset();
  same.sample_pictures = same.pictures = false;
  same.search.journal.clear();
  same.search.journal_folder.clear();
  same.search.resume = false;
  same.search.prove_minimum = false;
  same.search.pareto = false;
  same.alternatives = 0;
  std::vector<Candidate> all{{"fix", same, /*repairs=*/true}};
  const bool scaled = std::ranges::any_of(asked.precision.low, needs_scale);
  const auto add_target = [&](Target target) {
    Candidate other{fmt::format("‹target› {}", word_of(target)), same, false};
    other.options.precision.target = target;
    other.options.precision.arithmetic = {};
    all.push_back(std::move(other));
  };
  // An engine that has to agree is the one that is meant.
  const std::vector<Target> targets =
      scaled && !asked.confirm_on ? other_targets(asked.precision.target) : std::vector<Target>{};
  if (!targets.empty()) add_target(targets.front());
  const auto [format, option] = other_format(asked.precision.low);
  Candidate other{option, same, false};
  other.options.precision.low = {format};
  if (std::ranges::find(asked.precision.low, format) == asked.precision.low.end()) all.push_back(std::move(other));
  if (targets.size() > 1) add_target(targets[1]);
  return all;
}

Alternative row_of(std::string change, const DiagnoseReport& report) {
  Alternative row;
  row.change = std::move(change);
  row.low = report.low;
  row.lowered = lowered_layers(report);
  if (!report.kept) return row;
  const KeptSetReport& kept = *report.kept;
  row.kept = kept.layers.size();
  row.kept_macs = kept.kept_macs;
  row.total_macs = kept.total_macs;
  row.cost = kept.cost;
  row.metric = kept.file_test ? kept.file_test->metric : kept.metric;
  row.figures = report.final_figures;
  if (report.explanation) {
    row.repairs = static_cast<std::size_t>(std::ranges::count_if(report.explanation->repairs, &RepairTried::accepted));
  }
  if (report.latency && (report.target == Target::OnnxRuntime || !report.latency->engine.empty())) {
    row.float_ms = report.latency->float_ms;
    row.ms = report.latency->repaired_ms ? report.latency->repaired_ms : report.latency->low_ms;
  }
  const Outcome outcome = outcome_of(report);
  if (outcome == Outcome::Impossible || outcome == Outcome::FileMisses) {
    row.end = AlternativeEnd::Missed;
    if (!row.figures) row.figures = report.all_high ? *report.all_high : report.reference;
  } else if (!met(report) || !(row.figures || row.metric)) {
    row.why = "its time was up before a set was found and its model measured";
  } else {
    row.end =
        outcome == Outcome::Stopped || outcome == Outcome::Unstable ? AlternativeEnd::Unfinished : AlternativeEnd::Met;
  }
  return row;
}

bool has_set(const Alternative& row) { return row.end == AlternativeEnd::Met || row.end == AlternativeEnd::Unfinished; }

/// vernier fix takes repairs back with which more would be kept than without; here that search is `keep`.
void repairs_or_keep(const Alternative& keep, Alternative& fix) {
  if (!has_set(keep) || fix.end == AlternativeEnd::NotMeasured || (has_set(fix) && fix.cost <= keep.cost)) return;
  const double seconds = fix.seconds;
  fix = keep;
  fix.change = "fix";
  fix.repairs = 0;
  fix.seconds = seconds;
}

double seconds_since(Deadline start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Deadline after(double seconds) {
  return std::chrono::steady_clock::now() +
         std::chrono::duration_cast<Deadline::duration>(std::chrono::duration<double>(seconds));
}

Alternative measure(const Candidate& candidate, double seconds, const DiagnoseAgain& again,
                    const RepairOptions& repairs, const JobSinks& sinks) {
  const Deadline start = std::chrono::steady_clock::now();
  const Deadline end = after(seconds);
  JobSinks quiet;
  quiet.interrupted = [&] { return sinks.is_interrupted() || std::chrono::steady_clock::now() > end; };
  Alternative row;
  row.change = candidate.change;
  constexpr const char* kInterrupted = "interrupted before it was measured";
  if (sinks.is_interrupted()) {
    row.why = kInterrupted;
    return row;
  }
  try {
    row = row_of(candidate.change, again(candidate.options, candidate.repairs ? &repairs : nullptr,
                                         after(seconds * (1 - kToVerify)), quiet));
  } catch (const Error& error) {
    row.why = error.kind() == ErrorKind::Interrupted ? "its time was up before it was measured" : error.what();
  }
  if (row.end == AlternativeEnd::NotMeasured && sinks.is_interrupted()) row.why = kInterrupted;
  row.seconds = seconds_since(start);
  return row;
}

}  // namespace

std::vector<Alternative> measure_alternatives(const DiagnoseOptions& options, const DiagnoseReport& found,
                                              double saved_seconds, const DiagnoseAgain& again, const JobSinks& sinks) {
  const bool dear = options.search.check || options.trials_on_engine || !job_ranks().alone();
  const bool better_is_possible = found.kept && (!found.kept->layers.empty() || !met(found));
  if (options.alternatives == 0 || dear || !better_is_possible || sinks.is_interrupted()) return {};
  Alternative first = row_of("keep", found);
  for (const PhaseTime& phase : found.phases) first.seconds += phase.seconds;
  double left = std::max(kTimesTheSearch * (first.seconds + saved_seconds), kLeastSeconds);
  std::vector<Alternative> rows{std::move(first)};
  std::vector<Candidate> others = candidates(options);
  others.resize(std::min(options.alternatives, others.size()));
  const RepairOptions repairs;
  for (std::size_t i = 0; i < others.size(); ++i) {
    // The last one gets all that is left; the repairs, which come first, more than their share.
    const double share = i + 1 == others.size() ? left : left * (i == 0 ? 0.7 : 0.5);
    if (sinks.progress) sinks.progress("options", i, others.size());
    rows.push_back(measure(others[i], share, again, repairs, sinks));
    if (others[i].repairs) repairs_or_keep(rows.front(), rows.back());
    left -= rows.back().seconds;
    if (left <= 0) left = kLeastSeconds / 4;
  }
  if (sinks.progress) sinks.progress("options", others.size(), others.size());
  return rows;
}

}  // namespace vernier
