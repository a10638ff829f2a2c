#include "jobs/diagnose/alternatives.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "distributed/ranks.h"
#include "vernier/error.h"
#include "vernier/format.h"
#include "vernier/precision.h"
#include "vernier/report/alternatives.h"
#include "vernier/report/causes.h"
#include "vernier/report/figures.h"
#include "vernier/report/kept_set.h"
#include "vernier/report/outcome.h"
#include "vernier/requirement.h"
#include "vernier/target.h"

namespace vernier {
namespace {

// Of the trials that the first search took, all options together three times as many: a repaired network has less to
// keep, and its certificate takes less. A certificate of few layers takes as many trials in a short search.
constexpr double kTrialsForRepairs = 2, kTrialsForOthers = 1;
constexpr std::size_t kLeast = 30;
// Of the multiply-accumulates of one pass over the samples, and never less than what a quarter of a second is enough
// for.
constexpr double kRoundingPasses = 0.5, kLeastRounding = 5e9;

struct Candidate {
  std::string change;
  DiagnoseOptions options;
  bool repairs = false;
  std::optional<Target> target{};  // other than the one asked for
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

void limit_trials(SearchOptions& search, double trials) {
  const std::size_t most = std::max(static_cast<std::size_t>(trials), kLeast);
  search.max_evaluations = search.max_evaluations == 0 ? most : std::min(search.max_evaluations, most);
}

/// What the repairs of an option may do.
RepairOptions bounded_repairs(const DiagnoseReport& found) {
  RepairOptions repairs;
  const double pass = static_cast<double>(found.kept->total_macs) * static_cast<double>(found.samples);
  repairs.rounding_work = std::max(kRoundingPasses * pass, kLeastRounding);
  for (const LayerRow& row : found.layers) {
    if (row.share) repairs.damage[row.name] = *row.share;
  }
  return repairs;
}

/// The repairs: what is asked for besides an answer, a proof or a curve, is asked for of them as well, since they may
/// become the answer.
Candidate repaired(const DiagnoseOptions& asked, const DiagnoseReport& found) {
  Candidate candidate{"fix", asked, /*repairs=*/true};
  SearchOptions& search = candidate.options.search;
  limit_trials(search, kTrialsForRepairs * static_cast<double>(found.kept->evaluations));
  if (!search.journal.empty()) search.journal += ".repaired";
  return candidate;
}

std::vector<Candidate> candidates(const DiagnoseOptions& asked, const DiagnoseReport& found) {
  DiagnoseOptions same = asked;
  same.output.clear();
  same.compile.reset();
  same.sample_pictures = same.pictures = false;
  same.alternatives = 0;
  std::vector<Candidate> all{repaired(same, found)};
  same.search.journal.clear();
  same.search.journal_folder.clear();
  same.search.resume = false;
  same.search.prove_minimum = false;
  same.search.pareto = false;
  const bool scaled = std::ranges::any_of(asked.precision.low, needs_scale);
  const auto add_target = [&](Target target) {
    Candidate other{fmt::format("‹target› {}", word_of(target)), same, false, target};
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

void take_times(const DiagnoseReport& report, Alternative& row) {
  if (!report.latency || (report.target != Target::OnnxRuntime && report.latency->engine.empty())) return;
  row.float_ms = report.latency->float_ms;
  row.ms = report.latency->repaired_ms ? report.latency->repaired_ms : report.latency->low_ms;
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
  if (row.figures && report.engine && report.engine->figures.damage > row.figures->damage) {
    row.figures = report.engine->figures;
  }
  if (report.explanation) {
    row.repairs = static_cast<std::size_t>(std::ranges::count_if(report.explanation->repairs, &RepairTried::accepted));
  }
  take_times(report, row);
  const Outcome outcome = outcome_of(report);
  if (is_missed(outcome)) {
    row.end = AlternativeEnd::Missed;
    if (!row.figures) row.figures = report.all_high ? *report.all_high : report.reference;
  } else if (!met(report) || !(row.figures || row.metric)) {
    row.why = "its search used up its evaluations before it measured a model";
  } else {
    row.end =
        outcome == Outcome::Stopped || outcome == Outcome::Unstable ? AlternativeEnd::Unfinished : AlternativeEnd::Met;
  }
  return row;
}

Alternative without_repairs(const Alternative& keep, double seconds) {
  Alternative fix = keep;
  fix.change = "fix";
  fix.repairs = 0;
  fix.seconds = seconds;
  return fix;
}

/// vernier fix takes repairs back with which more would be kept than without; here that search is `keep`.
void repairs_or_keep(const Alternative& keep, Alternative& fix) {
  if (!meets(keep) || fix.end == AlternativeEnd::NotMeasured || (meets(fix) && fix.cost <= keep.cost)) return;
  fix = without_repairs(keep, fix.seconds);
}

Alternative measure(const Candidate& candidate, const Alternative& keep, const DiagnoseAgain& again,
                    const RepairOptions& repairs, const JobSinks& sinks) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  JobSinks quiet;
  quiet.interrupted = [&] { return sinks.is_interrupted(); };
  Alternative row;
  row.change = candidate.change;
  row.target = candidate.target;
  constexpr const char* kInterrupted = "interrupted before it was measured";
  if (sinks.is_interrupted()) {
    row.why = kInterrupted;
    return row;
  }
  try {
    const std::optional<DiagnoseReport> found = again(candidate.options, candidate.repairs ? &repairs : nullptr, quiet);
    row = found ? row_of(candidate.change, *found) : without_repairs(keep, 0);
  } catch (const Error& error) {
    row.why = error.what();
  }
  if (row.end == AlternativeEnd::NotMeasured && sinks.is_interrupted()) row.why = kInterrupted;
  row.target = candidate.target;
  row.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return row;
}

/// A figure of `option` that is shown, that no limit asks for, and that is worse than in `plain`. Limits decide how
/// much worse what they are about may be.
std::optional<WorseFigure> worse_figure(const RunFigures& plain, const RunFigures& option,
                                        const std::optional<Requirement>& requirement) {
  constexpr double kShownDb = 0.1;  // what is not seen in the figures is no reason
  const bool by_top1 = requirement && requirement->metric == Metric::MinTop1Agreement;
  for (const OutputFigure& output : option.outputs) {
    const auto was = std::ranges::find(plain.outputs, output.name, &OutputFigure::name);
    if (was == plain.outputs.end()) continue;
    const bool limited = requirement && requirement->limit_for(output.name);
    if (!(limited && by_top1) && was->top1_agreement > output.top1_agreement && output.top1_agreement) {
      return WorseFigure{output.name, /*top1=*/true, *was->top1_agreement, *output.top1_agreement};
    }
    if (!(limited && !by_top1) && was->sqnr_db - output.sqnr_db >= kShownDb) {
      return WorseFigure{output.name, /*top1=*/false, was->sqnr_db, output.sqnr_db};
    }
  }
  return std::nullopt;
}

std::optional<WorseFigure> worse_figure(const Alternative& plain, const Alternative& option,
                                        const std::optional<Requirement>& requirement) {
  if (!meets(plain) || !plain.figures || !option.figures) return std::nullopt;
  return worse_figure(*plain.figures, *option.figures, requirement);
}

/// Whether the repaired network takes less work than what was found first, and may become the answer.
bool repairs_suffice(const DiagnoseOptions& options, const DiagnoseReport& found, const Alternative& plain,
                     const Alternative& fix) {
  const bool better = fix.end == AlternativeEnd::Met && (!meets(plain) || fix.cost < plain.cost);
  return better && fix.repairs > 0 && !options.from && !worse_figure(plain, fix, found.requirement);
}

Alternative left_out(const Candidate& candidate) {
  Alternative row;
  row.change = candidate.change;
  row.target = candidate.target;
  row.low = candidate.options.precision.low;
  row.why = "the repaired network is the answer";
  return row;
}

}  // namespace

std::vector<Alternative> measure_alternatives(const DiagnoseOptions& options, const DiagnoseReport& found,
                                              const DiagnoseAgain& again, const JobSinks& sinks) {
  const bool dear = options.search.check || options.trials_on_engine || !job_ranks().alone();
  const bool better_is_possible = found.kept && (!found.kept->layers.empty() || !met(found));
  if (options.alternatives == 0 || dear || !better_is_possible || sinks.is_interrupted()) return {};
  Alternative first = row_of("keep", found);
  for (const PhaseTime& phase : found.phases) first.seconds += phase.seconds;
  std::vector<Alternative> rows{std::move(first)};
  std::vector<Candidate> others = candidates(options, found);
  others.resize(std::min(options.alternatives, others.size()));
  const std::size_t of_repairs = others.empty() ? 0 : 1;
  const double trials_of_other = kTrialsForOthers * static_cast<double>(found.kept->evaluations) /
                                 static_cast<double>(std::max<std::size_t>(others.size() - of_repairs, 1));
  const RepairOptions repairs = bounded_repairs(found);
  for (std::size_t i = 0; i < others.size(); ++i) {
    if (sinks.progress) sinks.progress("options", i, others.size());
    if (i > 0 && repairs_suffice(options, found, rows[0], rows[1])) {
      rows.push_back(left_out(others[i]));
      continue;
    }
    if (!others[i].repairs) limit_trials(others[i].options.search, trials_of_other);
    rows.push_back(measure(others[i], rows.front(), again, repairs, sinks));
    if (others[i].repairs) repairs_or_keep(rows.front(), rows.back());
  }
  if (sinks.progress) sinks.progress("options", others.size(), others.size());
  return rows;
}

void add_latency(DiagnoseReport& report) {
  const Alternative* const answer = answer_of_alternatives(report);
  for (Alternative& row : report.alternatives) {
    // Without a repair it is the first answer.
    const bool same = row.change == "fix" && row.repairs == 0 && meets(row) && answer == &report.alternatives.front();
    if (&row == answer || same) take_times(report, row);
  }
}

bool adopt_best(const DiagnoseOptions& options, DiagnoseReport& report) {
  const Alternative* best = best_alternative(report);
  if (best == nullptr || best->repairs == 0 || options.from) return false;
  const auto row = std::ranges::find(report.alternatives, "fix", &Alternative::change);
  if (best != &*row) return false;
  row->worse = worse_figure(report.alternatives.front(), *row, report.requirement);
  if (row->worse) return false;
  row->adopted = true;
  return true;
}

}  // namespace vernier
