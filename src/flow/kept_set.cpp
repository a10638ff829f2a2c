#include "flow/kept_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "core/file.h"
#include "core/hash.h"
#include "core/text.h"
#include "flow/figures.h"
#include "flow/judge.h"
#include "flow/worst_first.h"
#include "search/confirmed.h"
#include "search/contiguous.h"
#include "search/journal.h"
#include "search/prefix.h"
#include "search/trials.h"

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

const char* verdict_text(Verdict verdict) {
  switch (verdict) {
    case Verdict::Good:
      return "good";
    case Verdict::Bad:
      return "bad";
    case Verdict::Invalid:
      return "invalid";
    case Verdict::TimedOut:
      return "timed-out";
    case Verdict::Unstable:
      break;
  }
  return "unstable";
}

std::string hash_of(const std::string& text) {
  Sha256 hash;
  hash.update(std::as_bytes(std::span(text)));
  return hash.hex();
}

/// One search over one experiment: what its steps share.
class KeptSetSearch {
 public:
  KeptSetSearch(Experiment& experiment, const Evidence& evidence, const SearchRequest& request, const JobSinks& sinks)
      : experiment_(experiment),
        evidence_(evidence),
        request_(request),
        sinks_(sinks),
        costs_(cost_model(experiment, request.options.cost, request.times)),
        // A list that is walked says of each step what it would have needed.
        judge_(experiment, request.objective, request.options.mode == SearchMode::Minimal),
        oracle_([this](const KeptSet& set) {
          return request_.external ? request_.external(judge_.names(set)) : judge_(set);
        }) {
    if (!request.options.journal.empty()) {
      Journal::Identity identity{{"model_sha256", experiment.all_low_plan().model_sha256},
                                 {"data_sha256", experiment.reference.data_sha256},
                                 {"plan_sha256", hash_of(plan_to_json(experiment.all_low_plan()))},
                                 {"objective", request.objective_text}};
      if (experiment.golden) identity["golden_sha256"] = experiment.golden->data_sha256;
      if (request.objective != nullptr) identity["objective_sha256"] = request.objective->fingerprint();
      journal_.emplace(request.options.journal, identity, experiment.candidate_names(), request.options.resume);
      for (const std::string& note : journal_->notes()) say(note);
    }
  }

  KeptSetReport run() {
    const Oracle recorded = journal_ ? journal_->recorded(oracle_) : oracle_;
    MinimalOptions options = search_options();
    MinimalResult result = request_.options.mode == SearchMode::Minimal ? search_minimal_set(recorded, options)
                                                                        : search_list(recorded, options);
    if (request_.external && passes(result.final_trial) && !stopped()) look_again(recorded, result);
    KeptSetReport report = report_of(result);
    if (request_.options.mode != SearchMode::Minimal && passes(result.final_trial)) request_.confirm(report);
    const bool list = request_.options.mode != SearchMode::Minimal;
    if (list && result.end == SearchEnd::Found && request_.options.minimal_too && !stopped()) add_minimal(report);
    if (request_.options.pareto && !request_.external && !stopped()) add_pareto(report);
    return report;
  }

 private:
  void say(const std::string& text) const {
    if (sinks_.info) sinks_.info(text);
  }
  bool stopped() const { return sinks_.interrupted && sinks_.interrupted(); }

  std::vector<SearchItem> items() const {
    std::vector<SearchItem> items;
    for (std::size_t i = 0; i < experiment_.candidates().size(); ++i) items.push_back({predicted(i), costs_.items[i]});
    return items;
  }

  double predicted(std::size_t item) const {
    // An objective of its own kind has no damage of single layers: their noise ranks them.
    const bool figures = request_.objective == nullptr && !request_.external;
    const Requirement* requirement = figures ? experiment_.requirement() : nullptr;
    return predicted_damage(evidence_, experiment_.candidates()[item]->name, requirement);
  }

  MinimalOptions search_options() {
    MinimalOptions options;
    options.max_trials = request_.options.max_evaluations;
    options.borders = costs_.borders;
    options.prove_minimum = request_.options.prove_minimum;
    const auto start = std::chrono::steady_clock::now();
    options.stop = [this, start] {
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
      const double limit = request_.options.max_seconds;
      return stopped() || (limit > 0 && spent.count() > limit);
    };
    if (!request_.external) options.estimate = [this](const KeptSet& set) { return judge_.estimate(set); };
    if (journal_ && options.estimate) options.estimate = journal_->recorded_estimate(options.estimate);
    options.rerank = [this] {
      std::vector<double> again;
      if (!request_.measure_more || !request_.measure_more()) return again;
      for (std::size_t i = 0; i < experiment_.candidates().size(); ++i) again.push_back(predicted(i));
      return again;
    };
    options.on_trial = [this](const KeptSet& set, const Trial& trial) { take(set, trial); };
    return options;
  }

  void take(const KeptSet& set, const Trial& trial) {
    tests_.push_back(row_of(set, trial));
    if (sinks_.progress) sinks_.progress("search", tests_.size(), 0);
    std::string text = fmt::format("evaluation {}: {} kept", tests_.size(), set.size());
    if (request_.objective == nullptr && !request_.external) {
      text += fmt::format(", {:.2f} {}{}", trial.metric, metric_unit(experiment_.requirement()->metric),
                          trial.stopped_early ? " or worse" : "");
    }
    say(fmt::format("{}, damage {:.3f}: {}", text, trial.damage, verdict_text(trial.verdict)));
    if (trial.verdict != Verdict::Good || !journal_) return;
    const double cost = cost_of(items(), costs_.borders, set);
    if (best_cost_ && *best_cost_ <= cost) return;
    best_cost_ = cost;
    std::filesystem::path file = request_.options.journal;
    replace_file(file += ".best.json", plan_to_json(experiment_.plan_keeping(judge_.names(set))));
  }

  TestRow row_of(const KeptSet& set, const Trial& trial) const {
    TestRow row;
    row.layers = judge_.names(set);
    row.verdict = verdict_text(trial.verdict);
    row.metric = trial.metric;
    row.damage = trial.damage;
    row.lower_bound = trial.stopped_early;
    row.needs = trial.why;
    return row;
  }

  MinimalResult search_minimal_set(const Oracle& oracle, const MinimalOptions& options) {
    const ConfirmedResult found = search_confirmed(
        items(), oracle, [&](const MinimalResult& result) { return request_.confirm(report_of(result)); }, options);
    return found.minimal;
  }

  MinimalResult search_list(const Oracle& oracle, const MinimalOptions& options) {
    std::vector<std::size_t> order(experiment_.candidates().size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const SearchOptions& wanted = request_.options;
    if (wanted.mode == SearchMode::WorstFirst) order = worst_first(experiment_, evidence_);
    if (wanted.reverse) std::reverse(order.begin(), order.end());
    MinimalResult result =
        wanted.mode == SearchMode::Bisect
            ? search_bisect(order, oracle, options)
            : search_linear(order, wanted.mode == SearchMode::Linear ? 1 : wanted.step, oracle, options);
    result.cost = cost_of(items(), costs_.borders, result.kept);
    return result;
  }

  KeptSetReport report_of(const MinimalResult& result) const {
    KeptSetReport kept;
    kept.layers = judge_.names(result.kept);
    kept.mode = search_mode_name(request_.options.mode);
    if (request_.options.reverse) kept.direction = "reverse";
    kept.end = end_text(result.end);
    kept.objective = request_.objective == nullptr && !request_.external ? "" : request_.objective_text;
    kept.certified = result.certificate.complete || result.end == SearchEnd::NothingNeeded;
    for (const Certificate::Needed& needed : result.certificate.needed) {
      kept.certificate.push_back({experiment_.candidates()[needed.item]->name, needed.trial.metric, needed.trial.damage,
                                  needed.trial.stopped_early});
    }
    if (result.final_trial.verdict == Verdict::Good) kept.metric = result.final_trial.metric;
    kept.evaluations = result.trials;
    kept.recalled = journal_ ? journal_->recalled() : 0;
    kept.notes = result.notes;
    if (journal_) kept.notes.insert(kept.notes.end(), journal_->notes().begin(), journal_->notes().end());
    kept.total_macs = total_macs(experiment_);
    for (const std::size_t item : result.kept) kept.kept_macs += macs_of(experiment_, *experiment_.candidates()[item]);
    kept.cost_unit = cost_unit_name(request_.options.cost);
    kept.cost = result.cost;
    for (const double cost : costs_.items) kept.cost_of_all = kept.cost_of_all.value_or(0) + cost;
    kept.lower_bound = result.lower_bound;
    kept.tests = tests_;
    say_what_it_rests_on(result, kept);
    return kept;
  }

  void say_what_it_rests_on(const MinimalResult& result, KeptSetReport& kept) const {
    if (!passes(result.final_trial)) return;
    kept.proven.push_back(request_.external ? std::string("the check passes the model with this set, twice")
                                            : fmt::format("the set passes on all {}",
                                                          plural(experiment_.subject().samples->size(), "sample")));
    const bool list = request_.options.mode != SearchMode::Minimal;
    if (!result.certificate.needed.empty()) {
      kept.proven.push_back(fmt::format("{} dropped alone, each: it failed every time",
                                        plural(result.certificate.needed.size(), "kept layer")));
    }
    if (!result.certificate.not_cheaper.empty()) {
      kept.proven.push_back(fmt::format("{} cost nothing: without them the borders would cost more",
                                        plural(result.certificate.not_cheaper.size(), "kept layer")));
    }
    if (result.lower_bound) {
      const double gap = result.cost - *result.lower_bound;
      kept.proven.push_back(
          gap <= 1e-9 * result.cost
              ? fmt::format("no set that passes costs less than {:.4g} {}", result.cost, kept.cost_unit)
              : fmt::format("no set that passes costs less than {:.4g} of its {:.4g} {}", *result.lower_bound,
                            result.cost, kept.cost_unit));
      kept.assumed.emplace_back("the lower bound: that keeping more layers never makes a passing set fail");
    } else if (result.end == SearchEnd::Certified) {
      kept.assumed.emplace_back(
          "that no quite different, cheaper set passes: --prove-minimum says how much cheaper one could be");
    }
    if (list && result.end == SearchEnd::Found) {
      kept.assumed.emplace_back(
          "that only such lists of layers come into question: layers within the list may not be needed");
    }
  }

  /// An outside check may be flaky: the answer is asked once more.
  void look_again(const Oracle& oracle, MinimalResult& result) {
    const Trial again = oracle(result.kept);
    ++result.trials;
    if (passes(again)) return;
    result.end = SearchEnd::Unstable;
    result.notes.emplace_back("the check is unstable: it passed the answer first and then did not");
  }

  /// What the minimal search keeps instead; tests that were made are not made again.
  void add_minimal(KeptSetReport& report) {
    request_.rank();
    Judge judge(experiment_, request_.objective, /*early_stop=*/true);
    const Oracle simulated = [&](const KeptSet& set) { return judge(set); };
    std::map<KeptSet, Trial> known;
    for (const TestRow& row : tests_) known[items_named(row.layers)] = trial_of(row);
    const std::size_t before = known.size();
    const Oracle& oracle = request_.external ? oracle_ : simulated;
    const Oracle recorded = journal_ ? journal_->recorded(oracle) : oracle;
    const Oracle remembered = [&](const KeptSet& set) {
      if (const auto found = known.find(set); found != known.end()) return found->second;
      return known[set] = recorded(set);
    };
    MinimalOptions options = search_options();
    options.on_trial = {};
    const MinimalResult result = search_minimal(items(), remembered, options);
    if (!passes(result.final_trial)) return;
    report.minimal = MinimalInstead{judge_.names(result.kept), result.certificate.complete, known.size() - before};
    report.evaluations += known.size() - before;
  }

  KeptSet items_named(const std::vector<std::string>& layers) const {
    KeptSet set;
    for (std::size_t i = 0; i < experiment_.candidates().size(); ++i) {
      if (std::find(layers.begin(), layers.end(), experiment_.candidates()[i]->name) != layers.end()) set.push_back(i);
    }
    return set;
  }

  static Trial trial_of(const TestRow& row) {
    return {.verdict = row.verdict == "good" ? Verdict::Good : Verdict::Bad,
            .metric = row.metric,
            .damage = row.damage,
            .stopped_early = row.lower_bound};
  }

  /// Accuracy against cost: the trials that ran to their end, and the most useful layers up to a few more counts.
  void add_pareto(KeptSetReport& report) {
    constexpr std::size_t kMoreTrials = 6;
    const std::vector<SearchItem> all = items();
    const Ranking ranking = rank(all);
    Judge judge(experiment_, request_.objective, /*early_stop=*/false);
    const Oracle whole = [&judge](const KeptSet& set) { return judge(set); };
    const Oracle recorded = journal_ ? journal_->recorded(whole) : whole;
    std::map<KeptSet, Trial> points;
    const auto known = [&](const KeptSet& set) { return points.contains(set); };
    for (const TestRow& row : tests_) {
      const Trial trial = trial_of(row);
      if (has_exact_damage(trial)) points[items_named(row.layers)] = trial;
    }
    std::size_t more = 0;
    for (std::size_t length = 1; length < all.size() && more < kMoreTrials && !stopped();
         length += (length + 1) / 2 + 1) {
      const KeptSet set = prefix(ranking, length);
      if (known(set)) continue;
      const Trial trial = recorded(set);
      ++more;
      if (has_exact_damage(trial)) points[set] = trial;
    }
    for (const auto& [set, trial] : points) {
      report.pareto.push_back(
          {judge_.names(set), cost_of(all, costs_.borders, set), trial.metric, trial.damage, false});
    }
    std::stable_sort(report.pareto.begin(), report.pareto.end(), [](const ParetoPoint& a, const ParetoPoint& b) {
      return std::pair(a.cost, a.damage) < std::pair(b.cost, b.damage);
    });
    double least = std::numeric_limits<double>::infinity();
    for (ParetoPoint& point : report.pareto) {
      point.front = point.damage < least;
      least = std::min(least, point.damage);
    }
    report.evaluations += more;
  }

  Experiment& experiment_;
  const Evidence& evidence_;
  const SearchRequest& request_;
  const JobSinks& sinks_;
  CostModel costs_;
  Judge judge_;
  Oracle oracle_;
  std::optional<Journal> journal_;
  std::vector<TestRow> tests_;
  std::optional<double> best_cost_;
};

}  // namespace

KeptSetReport find_kept_set(Experiment& experiment, const Evidence& evidence, const SearchRequest& request,
                            const JobSinks& sinks) {
  return KeptSetSearch(experiment, evidence, request, sinks).run();
}

}  // namespace vernier
