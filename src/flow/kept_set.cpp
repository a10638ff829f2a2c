#include "flow/kept_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "flow/figures.h"
#include "search/confirmed.h"
#include "vernier/error.h"

namespace vernier {
namespace {

const char* end_text(SearchEnd end) {
  switch (end) {
    case SearchEnd::Certified:
      return "certified";
    case SearchEnd::Found:
      return "found";
    case SearchEnd::NothingNeeded:
      return "nothing-needed";
    case SearchEnd::Impossible:
      return "impossible";
    case SearchEnd::Stopped:
      return "stopped";
    case SearchEnd::Unstable:
      break;
  }
  return "unstable";
}

/// The metric of the output that uses most of its allowance.
double worst_metric(const std::map<std::string, OutputStats>& outputs, const Requirement& requirement) {
  double worst_damage = -1;
  double metric = 0;
  for (const auto& [name, stats] : outputs) {
    const auto limit = requirement.limit_for(name);
    if (!limit) continue;
    const double damage = damage_of(requirement.metric, *limit, stats);
    if (damage <= worst_damage) continue;
    worst_damage = damage;
    metric = metric_value(requirement.metric, stats);
  }
  return metric;
}

/// The oracle of the search: kept sets of an experiment, judged by its requirement.
class Judge {
 public:
  explicit Judge(Experiment& experiment) : experiment_(experiment) {}

  Trial operator()(const KeptSet& set) {
    const Requirement& requirement = *experiment_.requirement();
    Trial trial;
    if (set.empty()) {  // measured already, in lock-step
      trial.damage = damage_of_all(experiment_.all_low().outputs, &requirement);
      trial.metric = worst_metric(experiment_.all_low().outputs, requirement);
    } else if (set.size() == experiment_.candidates().size() && experiment_.all_high_is_reference()) {
      trial.damage = 0;
      trial.metric = worst_metric(experiment_.reference.totals, requirement);
    } else {
      const TrialResult result =
          experiment_.run_keeping(names(set), &requirement, experiment_.hardest_first(), /*early_stop=*/true);
      trial.damage = result.damage;
      trial.metric = result.metric;
      trial.stopped_early = result.stopped_early;
    }
    trial.verdict = trial.damage <= 1 ? Verdict::Good : Verdict::Bad;
    return trial;
  }

  /// Trial::damage, guessed from a few samples.
  double estimate(const KeptSet& set) {
    try {
      const TrialResult part =
          experiment_.run_keeping(names(set), nullptr, experiment_.few_hard_samples(), /*early_stop=*/false);
      return damage_of_all(part.outputs, experiment_.requirement());
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::Interrupted) throw;
      return std::numeric_limits<double>::infinity();  // the search stops by itself at the next step
    }
  }

  std::vector<std::string> names(const KeptSet& set) const {
    std::vector<std::string> names;
    for (const std::size_t item : set) names.push_back(experiment_.candidates()[item]->name);
    return names;
  }

 private:
  Experiment& experiment_;
};

KeptSetReport report_of(const Experiment& experiment, const Judge& judge, const MinimalResult& result) {
  KeptSetReport kept;
  kept.layers = judge.names(result.kept);
  kept.end = end_text(result.end);
  kept.certified = result.certificate.complete || result.end == SearchEnd::NothingNeeded;
  for (const Certificate::Needed& needed : result.certificate.needed) {
    kept.certificate.push_back({experiment.candidates()[needed.item]->name, needed.trial.metric, needed.trial.damage,
                                needed.trial.stopped_early});
  }
  if (result.final_trial.verdict == Verdict::Good) kept.metric = result.final_trial.metric;
  kept.evaluations = result.trials;
  kept.notes = result.notes;
  kept.total_macs = total_macs(experiment);
  for (const std::size_t item : result.kept) kept.kept_macs += macs_of(experiment, *experiment.candidates()[item]);
  return kept;
}

}  // namespace

KeptSetReport find_kept_set(Experiment& experiment, const Evidence& evidence, std::size_t max_evaluations,
                            const ConfirmKept& confirm, const JobSinks& sinks) {
  const Requirement& requirement = *experiment.requirement();
  std::vector<SearchItem> items;
  for (const Layer* layer : experiment.candidates()) {
    items.push_back({predicted_damage(evidence, layer->name, &requirement), 1.0});
  }
  Judge judge(experiment);
  std::size_t trials = 0;
  MinimalOptions options;
  options.max_trials = max_evaluations;
  options.stop = [&] { return sinks.interrupted && sinks.interrupted(); };
  options.estimate = [&](const KeptSet& set) { return judge.estimate(set); };
  options.on_trial = [&](const KeptSet& set, const Trial& trial) {
    ++trials;
    if (sinks.info) {
      sinks.info(fmt::format("evaluation {}: {} kept, {:.2f} {}{}, damage {:.3f}: {}", trials, set.size(), trial.metric,
                             metric_unit(requirement.metric), trial.stopped_early ? " or worse" : "", trial.damage,
                             trial.verdict == Verdict::Good ? "good" : "bad"));
    }
    if (sinks.progress) sinks.progress("search", trials, 0);
  };
  const ConfirmedResult result = search_confirmed(
      items, [&](const KeptSet& set) { return judge(set); },
      [&](const MinimalResult& found) { return confirm(report_of(experiment, judge, found)); }, options);
  return report_of(experiment, judge, result.minimal);
}

std::vector<CurvePoint> quality_curve(Experiment& experiment, const Evidence& evidence,
                                      const std::vector<LayerRow>& ranked) {
  std::vector<std::string> layers;
  for (const LayerRow& row : ranked) {
    if (evidence.alone.contains(row.name)) layers.push_back(row.name);
  }
  std::vector<double> rest(layers.size() + 1, 0);  // damage left when the first i are kept
  for (std::size_t i = layers.size(); i-- > 0;) {
    rest[i] = rest[i + 1] + predicted_damage(evidence, layers[i], experiment.requirement());
  }
  const double measured_all = noise_share(experiment.all_low().outputs);
  const double scale =
      std::isfinite(rest[0]) && rest[0] > 0 && std::isfinite(measured_all) ? measured_all / rest[0] : 1;

  std::vector<CurvePoint> curve;
  const auto next = [](std::size_t kept) { return kept < 4 ? kept + 1 : kept + std::max<std::size_t>(1, kept / 3); };
  for (std::size_t kept = 0; kept <= layers.size(); kept = next(kept)) {
    CurvePoint point;
    point.kept = kept;
    point.predicted_sqnr_db = db_of(scale * rest[kept]);
    const bool measure = kept == 1 || kept == 2 || kept == 4 || (kept > 4 && curve.size() % 3 == 0);
    if (kept == 0) point.measured_sqnr_db = db_of(measured_all);
    if (measure && curve.size() < 12) {
      const std::vector<std::string> first(layers.begin(), layers.begin() + static_cast<std::ptrdiff_t>(kept));
      const TrialResult trial =
          experiment.run_keeping(first, nullptr, experiment.hardest_first(), /*early_stop=*/false);
      point.measured_sqnr_db = db_of(noise_share(trial.outputs));
    }
    curve.push_back(point);
  }
  return curve;
}

}  // namespace vernier
