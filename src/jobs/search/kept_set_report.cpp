#include "jobs/search/kept_set_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "base/text.h"
#include "search/trials.h"
#include "vernier/format.h"
#include "vernier/search_options.h"

namespace vernier {
namespace {

const char* unit_of(const SearchContext& context) {
  return context.request.options.whole_groups ? "kept layer or group" : "kept layer";
}

void say_what_is_proven(const MinimalResult& result, const SearchContext& context, KeptSetReport& kept) {
  const char* unit = unit_of(context);
  const std::string samples = plural(context.experiment.subject().samples->size(), "sample");
  kept.proven.push_back(context.request.verdicts_only() ? fmt::format("the check passes the model with this set{}",
                                                                      context.asked_again ? ", twice" : "")
                        : context.request.engine.empty()
                            ? fmt::format("the set passes on all {}", samples)
                            : fmt::format("the set passes on all {}, on {}", samples, context.request.engine));
  const std::vector<Certificate::Needed>& needed = result.certificate.needed;
  const auto by_chance = static_cast<std::size_t>(std::count_if(
      needed.begin(), needed.end(), [](const Certificate::Needed& one) { return one.trial.confidence < 1; }));
  if (!needed.empty()) {
    const std::string how = by_chance == 0 ? ""
                                           : fmt::format(", {} of them with a confidence of {:g} %", by_chance,
                                                         100 * context.request.options.confidence);
    kept.proven.push_back(
        context.experiment.has_ladder()
            ? fmt::format("{} lowered alone by one format{}: it failed{}{}", plural(needed.size(), "raised layer"),
                          needed.size() > 1 ? ", each" : "", needed.size() > 1 ? " every time" : "", how)
            : fmt::format("{} dropped alone{}: it failed{}{}", plural(needed.size(), unit),
                          needed.size() > 1 ? ", each" : "", needed.size() > 1 ? " every time" : "", how));
  }
  kept.not_cheaper = result.certificate.not_cheaper.size();
  if (kept.not_cheaper > 0) {
    kept.proven.push_back(fmt::format("{} cost nothing: without them the format boundaries would cost more",
                                      plural(kept.not_cheaper, unit)));
  }
  if (!result.lower_bound) return;
  const double gap = result.cost - *result.lower_bound;
  if (context.experiment.has_ladder()) {  // the report has the figures, in the unit of a ladder
    kept.proven.push_back(
        gap <= 1e-9 * result.cost
            ? std::string("no choice of formats that passes costs less")
            : fmt::format("no choice of formats that passes saves more than {:.1f} % of what raising costs",
                          100 * gap / result.cost));
    return;
  }
  kept.proven.push_back(
      gap <= 1e-9 * result.cost
          ? fmt::format("no set that passes costs less than {:.4g} {}", result.cost, word_of(kept.cost_unit))
          : fmt::format("no set that passes costs less than {:.4g} of its {:.4g} {}", *result.lower_bound, result.cost,
                        word_of(kept.cost_unit)));
}

void say_what_is_assumed(const MinimalResult& result, const SearchContext& context, KeptSetReport& kept) {
  const char* unit = unit_of(context);
  if (result.lower_bound) {
    kept.assumed.emplace_back("The lower bound holds if keeping more layers never makes a passing set fail");
  } else if (result.end == SearchEnd::Certified && !kept.minimum_asked) {
    kept.assumed.emplace_back(context.experiment.has_ladder()
                                  ? "A cheaper choice of formats may exist: ‹prove-minimum› bounds the difference"
                                  : "A cheaper set may exist: ‹prove-minimum› bounds the difference");
  }
  const std::size_t tried =
      result.certificate.needed.size() + result.certificate.not_cheaper.size() + result.certificate.needed_below.size();
  if (result.end == SearchEnd::Stopped && tried < result.kept.size()) {
    const std::size_t left = result.kept.size() - tried;
    kept.assumed.push_back(
        fmt::format("{} {} not dropped alone, so fewer may be enough", plural(left, unit), left == 1 ? "was" : "were"));
  }
  if (context.request.options.mode != SearchMode::Minimal && result.end == SearchEnd::Found) {
    kept.assumed.emplace_back("Some layers of the list may not be needed: only such lists were tried");
  }
  if (context.request.options.whole_groups) {
    kept.assumed.emplace_back("Fewer layers may be enough without ‹whole-groups›");
  }
  if (result.trials > 0 && result.end == SearchEnd::Certified && context.request.verdicts_only()) {
    kept.assumed.emplace_back("The check has to return the same verdict again: only the answer was asked twice");
  }
}

/// The format of a layer once `step` is not taken.
Format format_below(const Experiment& experiment, std::size_t step) {
  const Step& known = experiment.steps()[step];
  if (known.needs != kNoItem) return experiment.steps()[known.needs].format;
  return experiment.all_low_plan().format_of(experiment.candidates()[known.candidate]->name);
}

LadderReport ladder_of(const MinimalResult& result, const SearchContext& context,
                       const std::map<std::string, std::int64_t>& macs) {
  const Experiment& experiment = context.experiment;
  const std::map<std::string, Format> raised = experiment.raised_by(context.units.steps(result.kept));
  LadderReport ladder;
  for (const Format format : context.request.rungs) ladder.rungs.push_back({format, 0, 0});
  const PlannedFormats formats(experiment.all_low_plan());
  for (const Layer* layer : experiment.candidates()) {
    const auto found = raised.find(layer->name);
    if (found != raised.end()) ladder.raised.push_back({layer->name, found->second});
    const Format format = found != raised.end() ? found->second : formats.of(layer->name);
    auto rung = std::ranges::find(ladder.rungs, format, &RungReport::format);
    if (rung == ladder.rungs.end()) {  // of a KV cache, or of layers that cannot take the highest rung
      rung = std::ranges::find_if(
          ladder.rungs, [&](int bits) { return bits > bits_of(format); },
          [](const RungReport& known) { return bits_of(known.format); });
      rung = ladder.rungs.insert(rung, {format, 0, 0});
    }
    ++rung->layers;
    rung->macs += macs.at(layer->name);
  }
  ladder.cost_of_lowest = context.request.cost_of_lowest;
  return ladder;
}

std::vector<LayerGroup> groups_with_kept(const SearchContext& context, const std::vector<std::string>& layers) {
  const std::set<std::string> kept(layers.begin(), layers.end());
  std::vector<LayerGroup> groups;
  for (LayerGroup& group : switch_groups(context.experiment)) {
    group.kept = static_cast<std::size_t>(std::count_if(group.layers.begin(), group.layers.end(),
                                                        [&](const auto& layer) { return kept.contains(layer); }));
    if (group.kept > 0) groups.push_back(std::move(group));
  }
  return groups;
}

std::optional<RankingReport> ranking_of(const MinimalResult& result, const SearchContext& context) {
  if (context.request.options.mode != SearchMode::Minimal) return std::nullopt;
  RankingReport ranking;
  if (result.prediction_ratio > 0) ranking.ratio = result.prediction_ratio;
  ranking.rank_correlation = result.rank_correlation;
  ranking.compared = result.ranked;
  ranking.mended = result.ranking_mended;
  if (!ranking.ratio && !ranking.rank_correlation) return std::nullopt;
  return ranking;
}

}  // namespace

std::vector<std::string> SearchContext::layers(const KeptSet& set) const {
  std::vector<std::string> names;
  const KeptSet steps = units.steps(set);
  const std::map<std::string, Format> raised = experiment.raised_by(steps);
  for (const std::size_t step : steps) {
    const std::string& name = experiment.candidates()[experiment.steps()[step].candidate]->name;
    if (raised.contains(name) && (names.empty() || names.back() != name)) names.push_back(name);
  }
  return names;
}

std::vector<Format> SearchContext::raised_to(const KeptSet& set) const {
  if (!experiment.has_ladder()) return {};
  const std::map<std::string, Format> raised = experiment.raised_by(units.steps(set));
  std::vector<Format> formats;
  for (const std::string& layer : layers(set)) formats.push_back(raised.at(layer));
  return formats;
}

TestRow row_of(const std::vector<std::string>& layers, const Trial& trial) {
  TestRow row;
  row.layers = layers;
  row.verdict = trial.verdict;
  row.metric = trial.metric;
  row.damage = trial.damage;
  row.lower_bound = trial.stopped_early;
  row.needs = trial.why;
  row.samples = trial.samples;
  row.confidence = trial.confidence;
  row.on_samples = trial.on_samples;
  return row;
}

Trial trial_of(const TestRow& row) {
  Trial trial;
  trial.verdict = row.verdict == Verdict::Good ? Verdict::Good : Verdict::Bad;
  trial.metric = row.metric;
  trial.damage = row.damage;
  trial.stopped_early = row.lower_bound;
  trial.samples = row.samples;
  trial.confidence = row.confidence;
  trial.on_samples = row.on_samples;
  return trial;
}

KeptSetReport report_of(const MinimalResult& result, const SearchContext& context, const std::vector<TestRow>& tests,
                        const Journal* journal) {
  const SearchRequest& request = context.request;
  KeptSetReport kept;
  kept.layers = context.layers(result.kept);
  kept.mode = request.options.mode;
  kept.direction = request.options.direction;
  kept.end = result.end;
  kept.decided_by = request.decides.by;
  kept.golden = request.decides.golden;
  if (!kept.by_requirement()) kept.objective = request.decides.words;
  kept.minimum_asked = request.options.prove_minimum;
  kept.resumed = request.options.resume;
  kept.certified = result.certificate.complete || result.end == SearchEnd::NothingNeeded;
  for (const Certificate::Needed& needed : result.certificate.needed) {
    const Trial& trial = needed.trial;
    kept.certificate.push_back({context.units.name(needed.item),
                                trial.metric,
                                trial.damage,
                                trial.stopped_early,
                                trial.samples,
                                trial.confidence,
                                trial.output,
                                {},
                                trial.on_samples});
    if (!context.experiment.has_ladder()) continue;
    const std::size_t step = context.units.members(needed.item).front();
    kept.certificate.back().layer = context.experiment.candidates()[context.experiment.steps()[step].candidate]->name;
    kept.certificate.back().lowered_to = format_below(context.experiment, step);
  }
  if (result.final_trial.verdict == Verdict::Good) kept.metric = result.final_trial.metric;
  kept.evaluations = result.trials;
  if (journal != nullptr && journal->writes()) kept.journal = journal->path().string();
  kept.recalled = journal != nullptr ? journal->recalled() : 0;
  kept.notes = result.notes;
  if (journal != nullptr) kept.notes.insert(kept.notes.end(), journal->notes().begin(), journal->notes().end());
  const std::map<std::string, std::int64_t> macs = macs_by_layer(context.experiment);
  for (const auto& [layer, count] : macs) kept.total_macs += count;
  for (const std::string& layer : kept.layers) kept.kept_macs += macs.at(layer);
  kept.cost_unit = request.options.cost;
  kept.cost = result.cost;
  for (const SearchItem& item : context.items) kept.cost_of_all = kept.cost_of_all.value_or(0) + item.cost;
  kept.lower_bound = result.lower_bound;
  kept.tests = tests;
  if (context.experiment.has_ladder()) kept.ladder = ladder_of(result, context, macs);
  if (!passes(result.final_trial)) return kept;
  kept.groups = groups_with_kept(context, kept.layers);
  kept.ranking = ranking_of(result, context);
  if (result.end == SearchEnd::Unstable) return kept;  // nothing is proven, whatever is assumed
  say_what_is_proven(result, context, kept);
  say_what_is_assumed(result, context, kept);
  return kept;
}

}  // namespace vernier
