#include "jobs/search/kept_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "analysis/figures.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "jobs/search/best_plan.h"
#include "jobs/search/judge.h"
#include "jobs/search/kept_set_report.h"
#include "jobs/search/shared_trials.h"
#include "jobs/search/trials_ahead.h"
#include "jobs/search/worst_first.h"
#include "numerics/metrics.h"
#include "search/confirmed.h"
#include "search/contiguous.h"
#include "search/journal.h"
#include "search/trials.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/report/note_text.h"
#include "vernier/requirement.h"

namespace vernier {
namespace {

std::string hash_of(const std::string& text) {
  Sha256 hash;
  hash.update(std::as_bytes(std::span(text)));
  return hash.hex();
}

/// The costs of units: a border among members of one unit never becomes one.
std::vector<Border> borders_of_units(const std::vector<Border>& borders, const Units& units) {
  std::vector<Border> result;
  for (const Border& border : borders) {
    std::set<std::size_t> sides;
    for (const std::size_t item : border.items) sides.insert(units.unit_of(item));
    if (sides.size() > 1) result.push_back({{sides.begin(), sides.end()}, border.cost});
  }
  return result;
}

/// One search over one experiment: what its steps share.
class KeptSetSearch {
 public:
  KeptSetSearch(Experiment& experiment, Evidence evidence, const SearchRequest& request, const JobSinks& sinks)
      : experiment_(experiment),
        evidence_(std::move(evidence)),
        request_(request),
        sinks_(sinks),
        costs_(experiment.has_ladder() ? ladder_costs(experiment, request.options.cost, request.times)
                                       : cost_model(experiment, request.options.cost, request.times)),
        units_(experiment, request.options.whole_groups),
        context_{experiment, request, units_, {}, borders_of_units(costs_.borders, units_)},
        // A list that is walked says of each step what it would have needed.
        // On a ladder what each trial measured leads to cheaper ones.
        judge_(experiment, request.objective, request.options.mode == SearchMode::Minimal && !experiment.has_ladder(),
               request.options.confidence),
        ahead_(
            experiment, judge_, [this](const KeptSet& set) { return units_.steps(set); },
            request.objective == nullptr && !request.external && sessions_are_small(experiment.subject()),
            [this](std::size_t samples) { sample_inferences_ += samples; }),
        oracle_(answer_of_first(
            job_ranks(),
            [this](const KeptSet& set) {
              return request_.external ? request_.external(context_.layers(set)) : ahead_.trials.ask(set);
            },
            /*first_only=*/request.external != nullptr)) {
    if (request.options.confidence < 1 && !experiment.subject().carries.empty()) {
      throw Error(ErrorCode::WithoutEffect, "‹confidence›: samples of a sequence (‹carry›) depend on each other",
                  "leave it out: every trial is then decided with certainty");
    }
    if (experiment.has_ladder()) shares_ = left_shares(experiment);
    context_.items = items();
    if (request.options.journal.empty() && request.options.journal_folder.empty()) return;
    Journal::Identity identity{{"model_sha256", experiment.all_low_plan().model_sha256},
                               {"data_sha256", experiment.reference().data_sha256},
                               {"plan_sha256", hash_of(plan_to_json(experiment.all_low_plan()))},
                               {"objective", request.decides.key}};
    if (experiment.unseen() != nullptr)
      identity["unseen"] = experiment.unseen()->plan_digest(experiment.all_low_plan()) + ", and all samples";
    if (experiment.golden()) identity["golden_sha256"] = experiment.golden()->data_sha256;
    if (request.objective != nullptr) identity["objective_sha256"] = request.objective->fingerprint();
    if (experiment.has_ladder()) identity["cost"] = word_of(request.options.cost);
    if (request.options.confidence < 1) identity["confidence"] = fmt::format("{:g}", request.options.confidence);
    open_journal(identity);
  }

  KeptSetReport run() {
    const Oracle recorded = journal_ ? journal_->recorded(oracle_) : oracle_;
    MinimalOptions options = search_options();
    const bool list = request_.options.mode != SearchMode::Minimal;
    MinimalResult result = search_set(recorded, options);
    if (request_.verdicts_only() && passes(result.final_trial) && !sinks_.is_interrupted())
      look_again(recorded, result);
    KeptSetReport report = report_of(result, context_, tests_, journal());
    if (list && result.end == SearchEnd::Found && request_.options.minimal_too && !sinks_.is_interrupted())
      add_minimal(report);
    if (request_.options.pareto && !request_.external && !sinks_.is_interrupted()) add_pareto(report);
    if (report.end == SearchEnd::Stopped && journal_ && journal_->writes() && !sinks_.is_interrupted()) {
      sinks_.warn({"search-stopped", {{"journal", journal_->path().string()}}});
    }
    report.sample_inferences = sample_inferences_;
    return report;
  }

 private:
  void say(const std::string& text) const {
    if (sinks_.info) sinks_.info(text);
  }

  void open_journal(const Journal::Identity& identity) {
    JournalFile file{request_.options.journal};
    if (file.path.empty()) {
      const std::filesystem::path model(experiment_.all_low_plan().model_file);
      file = default_journal(request_.options.journal_folder, model.stem().string(), identity);
      std::error_code failure;
      std::filesystem::create_directories(request_.options.journal_folder, failure);
      if (failure) {
        sinks_.warn({"no-folder-for-trials",
                     {{"folder", request_.options.journal_folder.string()}, {"error", failure.message()}}});
        return;
      }
    }
    journal_.emplace(std::move(file), identity, units_.names(), request_.options.resume,
                     /*reader=*/!job_ranks().first());
    for (const Note& note : journal_->notes()) say(note_text(note));
    if (journal_->writes()) {
      best_.emplace(journal_->path(), sinks_);
      say(fmt::format("trials: {}", printable(journal_->path().string())));
    }
    say_lost();
    for (const RecordedTrial& known : journal_->trials()) ahead_.trials.skip(known.kept);
  }

  /// Once.
  void say_lost() {
    if (said_lost_ || !journal_ || !journal_->lost()) return;
    said_lost_ = true;
    sinks_.warn(*journal_->lost());
  }

  const Journal* journal() const { return journal_ ? &*journal_ : nullptr; }

  Trial counted(Judge& judge, const KeptSet& set) {
    const Trial trial = judge(units_.steps(set));
    sample_inferences_ += trial.samples + trial.also_run;
    return trial;
  }

  std::vector<SearchItem> items() const {
    std::vector<SearchItem> items;
    for (std::size_t unit = 0; unit < units_.size(); ++unit) {
      SearchItem item{0, 0};
      for (const std::size_t member : units_.members(unit)) {
        item.predicted_damage += predicted(member);
        item.cost += costs_.items[member];
        item.needs = experiment_.steps()[member].needs;  // of units that are one step each
      }
      items.push_back(item);
    }
    return items;
  }

  /// Of a step: what its layer does without it, beyond what it does with it.
  double predicted(std::size_t step) const {
    const std::size_t candidate = experiment_.steps()[step].candidate;
    const double alone = predicted_alone(candidate);
    if (shares_.empty()) return alone;
    const bool last = step + 1 == experiment_.steps().size() || experiment_.steps()[step + 1].candidate != candidate;
    const std::size_t below = experiment_.steps()[step].needs;
    // What is not finite at the bottom may be on the next rung: nobody knows before it is tried.
    if (std::isinf(alone)) return below == kNoItem ? alone : 1;
    return alone * ((below == kNoItem ? 1 : shares_[below]) - (last ? 0 : shares_[step]));
  }

  double predicted_alone(std::size_t candidate) const {
    // An objective of its own kind has no damage of single layers: their noise ranks them.
    const bool figures = request_.objective == nullptr && !request_.verdicts_only();
    const Requirement* requirement = figures ? experiment_.requirement() : nullptr;
    return predicted_damage(evidence_, experiment_.candidates()[candidate]->name, requirement);
  }

  /// Costs that are very uneven lead astray: one dear layer that a search by them never keeps may stand for many.
  std::vector<OtherCosts> other_costs() const {
    std::vector<OtherCosts> others;
    if (request_.external || experiment_.has_ladder()) return others;  // each of its trials is dear
    const CostUnit asked = request_.options.cost;
    if (asked != CostUnit::Layers) others.push_back(costs_in(CostUnit::Layers));
    if (asked == CostUnit::Time) others.push_back(costs_in(CostUnit::Macs));
    return others;
  }

  OtherCosts costs_in(CostUnit unit) const {
    CostModel costs = cost_model(experiment_, unit, nullptr);
    OtherCosts other{{}, borders_of_units(costs.borders, units_)};
    for (std::size_t i = 0; i < units_.size(); ++i) {
      double cost = 0;
      for (const std::size_t member : units_.members(i)) cost += costs.items[member];
      other.items.push_back(cost);
    }
    return other;
  }

  MinimalOptions search_options() {
    MinimalOptions options;
    options.max_trials = request_.options.max_evaluations;
    options.borders = context_.borders;
    options.other_costs = other_costs();
    options.prove_minimum = request_.options.prove_minimum;
    options.exchange = experiment_.has_ladder();
    const auto start = std::chrono::steady_clock::now();
    options.stop = [this, start] {
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
      const double limit = request_.options.max_seconds;
      const bool enough = sinks_.is_interrupted() || (limit > 0 && spent.count() > limit);
      return job_ranks().of_first(enough ? 1 : 0) != 0;
    };
    if (!request_.external) {
      options.estimate = [this](const KeptSet& set) { return ahead_.estimates.ask(set); };
      options.estimates_ahead = [this](std::vector<KeptSet> sets) { ahead_.estimates.expect(std::move(sets)); };
      options.trials_ahead = [this](std::vector<KeptSet> sets) { ahead_.trials.expect(std::move(sets)); };
    }
    if (journal_ && options.estimate) options.estimate = journal_->recorded_estimate(options.estimate);
    options.rerank = [this] {
      std::vector<double> again;
      std::optional<Evidence> more = request_.measure_more ? request_.measure_more() : std::nullopt;
      if (!more) return again;
      evidence_ = std::move(*more);
      for (const SearchItem& item : items()) again.push_back(item.predicted_damage);
      return again;
    };
    options.on_trial = [this](const KeptSet& set, const Trial& trial) { take(set, trial); };
    return options;
  }

  TestRow row(const KeptSet& set, const Trial& trial) const {
    TestRow row = row_of(context_.layers(set), trial);
    row.raised_to = context_.raised_to(set);
    return row;
  }

  void take(const KeptSet& set, const Trial& trial) {
    tests_.push_back(row(set, trial));
    tested_.push_back(set);
    if (sinks_.progress) sinks_.progress("search", tests_.size(), 0);
    say_trial(fmt::format("evaluation {}: {} kept", tests_.size(), tests_.back().layers.size()), trial);
    say_lost();
    keep_best(set, trial);
  }

  void say_trial(std::string what, const Trial& trial) const {
    if (request_.objective == nullptr && !request_.verdicts_only()) {
      what += fmt::format(", {:.2f} {}{}", trial.metric, metric_unit(experiment_.requirement()->metric),
                          trial.stopped_early ? " or worse" : "");
    }
    say(fmt::format("{}, damage {:.3f}: {}", what, trial.damage, word_of(trial.verdict)));
  }

  void keep_best(const KeptSet& set, const Trial& trial) {
    if (trial.verdict != Verdict::Good || !best_ || !journal_->writes()) return;
    const double cost = context_.cost(set);
    if (best_->is_improved_by(cost)) best_->keep(set, cost, experiment_.plan_of(units_.steps(set)));
  }

  MinimalResult search_set(const Oracle& oracle, MinimalOptions options) {
    const bool list = request_.options.mode != SearchMode::Minimal;
    const Search in_list = [this](const auto&, const Oracle& asked, const MinimalOptions& within) {
      return search_list(asked, within);
    };
    const Confirm confirm = [&](const MinimalResult& result) {
      const Trial trial = request_.confirm(report_of(result, context_, tests_, journal()));
      if (trial.verdict != Verdict::Invalid) judged(result.kept, trial);
      return trial;
    };
    if (request_.most_apart) options.most_apart = *request_.most_apart;
    if (list) options.rerank = {};
    MinimalResult found = search_confirmed(list ? in_list : Search(search_minimal), context_.items, oracle, confirm,
                                           judge_file_, options);
    if (!list) context_.items = found.items;
    return found;
  }

  /// What the written file of a set that passed is, which decides.
  Trial as_file(const KeptSet& set, const Trial& passed) {
    sample_inferences_ += passed.samples;
    const Oracle file = [&](const KeptSet& kept) {
      return request_.as_file(experiment_.plan_of(units_.steps(kept)), context_.layers(kept), passed);
    };
    const Trial trial = answer_of_first(job_ranks(), file, /*first_only=*/false)(set);  // processors differ
    judged(set, trial);
    return trial;
  }

  /// Once a file was refused, what passes in simulation alone passes no longer.
  Oracle deciding(const Oracle& oracle) {
    if (!files_decide_) return oracle;
    return [this, oracle](const KeptSet& set) {
      const Trial trial = oracle(set);
      return passes(trial) ? as_file(set, trial) : trial;
    };
  }

  /// Once files decide, theirs takes the place of the trial of that set in simulation.
  void judged(const KeptSet& set, const Trial& trial) {
    if (trial.verdict == Verdict::Bad) files_decide_ = true;
    if (!files_decide_) return;
    judged_.insert(set);
    const auto found = std::ranges::find(tested_, set);
    if (found == tested_.end()) return;
    TestRow& test = tests_[static_cast<std::size_t>(found - tested_.begin())];
    const std::size_t samples = test.samples;
    test = row(set, trial);
    test.samples = samples;
    say_trial(fmt::format("the file of {} kept", test.layers.size()), trial);
    if (trial.verdict != Verdict::Good && best_) best_->forget(set);
    keep_best(set, trial);
  }

  MinimalResult search_list(const Oracle& oracle, const MinimalOptions& options) {
    const SearchOptions& wanted = request_.options;
    std::vector<std::size_t> order(units_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (wanted.mode == SearchMode::WorstFirst) order = units_in(worst_first(experiment_, evidence_));
    if (wanted.direction == SearchDirection::Reverse) std::reverse(order.begin(), order.end());
    MinimalResult result =
        wanted.mode == SearchMode::Bisect
            ? search_bisect(order, oracle, options)
            : search_linear(order, wanted.mode == SearchMode::Linear ? 1 : wanted.step, oracle, options);
    result.cost = context_.cost(result.kept);
    return result;
  }

  /// The units of a list of candidates, each where its first member is.
  std::vector<std::size_t> units_in(const std::vector<std::size_t>& candidates) const {
    std::vector<std::size_t> order;
    for (const std::size_t candidate : candidates) {
      const std::size_t unit = units_.unit_of(candidate);
      if (std::find(order.begin(), order.end(), unit) == order.end()) order.push_back(unit);
    }
    return order;
  }

  /// An outside check may be flaky: what the answer rests on is asked again, each test of the certificate and the
  /// answer itself, until a coin would hardly have given the same answers, but not more often than the search asked. A
  /// person is asked about the answer only, once.
  void look_again(const Oracle& oracle, MinimalResult& result) {
    const bool person = request_.options.check && request_.options.check->command.empty();
    const std::size_t least = person ? 1 : std::min(kDecisive, result.trials);
    std::size_t asked = 0;
    const auto same = [&](const KeptSet& set, bool passed) {
      const Trial again = oracle(set);
      ++result.trials;
      ++asked;
      if (passes(again) == passed) return true;
      result.make_unstable();
      result.notes.push_back({"check-unstable", {{"passed_first", passed}, {"kept", set.size()}}});
      return false;
    };
    for (const Certificate::Needed& needed : result.certificate.needed) {
      if (person || needed.trial.verdict != Verdict::Bad) continue;
      if (sinks_.is_interrupted() || !same(without(result.kept, std::array{needed.item}), false)) return;
    }
    do {
      if (sinks_.is_interrupted() || !same(result.kept, true)) return;
    } while (asked < least);
    context_.asked_again = true;
  }

  /// What the minimal search keeps instead; tests that were made are not made again.
  void add_minimal(KeptSetReport& report) {
    evidence_ = request_.rank();
    context_.items = items();
    Judge judge(experiment_, request_.objective, /*early_stop=*/true, request_.options.confidence);
    const Oracle simulated = [&](const KeptSet& set) { return counted(judge, set); };
    std::map<KeptSet, Trial> known = tried();
    if (files_decide_) std::erase_if(known, [](const auto& entry) { return passes(entry.second); });
    const std::size_t before = known.size();
    const Oracle& oracle = request_.external ? oracle_ : simulated;
    const Oracle recorded = deciding(journal_ ? journal_->recorded(oracle) : oracle);
    const Oracle remembered = [&](const KeptSet& set) {
      if (const auto found = known.find(set); found != known.end()) return found->second;
      return known[set] = recorded(set);
    };
    MinimalOptions options = search_options();
    options.on_trial = {};
    if (request_.most_apart) options.most_apart = *request_.most_apart;
    Trial file;  // of what the search confirmed last, which it returns
    const Confirm confirm = [&](const MinimalResult& found) { return file = as_file(found.kept, found.final_trial); };
    const MinimalResult result =
        request_.external ? search_minimal(context_.items, remembered, options)
                          : search_confirmed(search_minimal, context_.items, remembered, confirm, judge_file_, options);
    if (!passes(result.final_trial) || (!request_.external && !passes(file))) return;
    report.minimal = MinimalInstead{context_.layers(result.kept), result.certificate.complete, known.size() - before};
    report.evaluations += known.size() - before;
  }

  void add_pareto(KeptSetReport& report) {
    Judge judge(experiment_, request_.objective, /*early_stop=*/false);
    const Oracle whole = [&](const KeptSet& set) { return counted(judge, set); };
    const Oracle recorded = deciding(journal_ ? journal_->recorded(whole) : whole);
    for (std::size_t i = 0; files_decide_ && i < tests_.size() && !sinks_.is_interrupted(); ++i) {
      if (tests_[i].verdict == Verdict::Good && !judged_.contains(tested_[i])) as_file(tested_[i], trial_of(tests_[i]));
    }
    report.pareto = pareto_points(
        context_, tried(), recorded, [this] { return sinks_.is_interrupted(); }, report.evaluations);
  }

  std::map<KeptSet, Trial> tried() const {
    std::map<KeptSet, Trial> trials;
    for (std::size_t i = 0; i < tests_.size(); ++i) trials[tested_[i]] = trial_of(tests_[i]);
    return trials;
  }

  Experiment& experiment_;
  Evidence evidence_;
  const SearchRequest& request_;
  const JobSinks& sinks_;
  CostModel costs_;
  Units units_;
  SearchContext context_;
  Judge judge_;
  TrialsAhead ahead_;
  Oracle oracle_;
  std::optional<Journal> journal_;
  bool said_lost_ = false;
  std::vector<TestRow> tests_;
  std::vector<KeptSet> tested_;   // the set of each
  std::vector<double> shares_;    // of a ladder, by step: what is left of the layer's damage with it
  std::optional<BestPlan> best_;  // with a journal that is written
  std::set<KeptSet> judged_;      // by their files
  const JudgePassing judge_file_ = [this](const KeptSet& set, const Trial& passed) { return as_file(set, passed); };
  bool files_decide_ = false;  // one was refused whose trial passed
  std::size_t sample_inferences_ = 0;
};

}  // namespace

KeptSetReport find_kept_set(Experiment& experiment, Evidence evidence, const SearchRequest& request,
                            const JobSinks& sinks) {
  return KeptSetSearch(experiment, std::move(evidence), request, sinks).run();
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
