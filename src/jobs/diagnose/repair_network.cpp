#include "jobs/diagnose/repair_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "analysis/alike_samples.h"
#include "analysis/figures.h"
#include "analysis/lost_agreement.h"
#include "analysis/some_samples.h"
#include "base/text.h"
#include "jobs/common/calibrated_plan.h"
#include "jobs/diagnose/rounding_noise.h"
#include "jobs/search/evidence.h"
#include "numerics/metrics.h"
#include "plan/calibrate.h"
#include "plan/lower_simulated.h"
#include "plan/scheme.h"
#include "vernier/fix.h"
#include "vernier/format.h"
#include "vernier/precision.h"
#include "vernier/report/causes.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

constexpr std::size_t kSamplesOfNoise = 4;

/// SQNR of the worst judged output of a rewritten float model against the outputs of the float model, `reference`.
/// `got`: its outputs on `samples`, by their place in it.
double nearness_db(const Subject& rewritten, const OutputStore& reference, const std::vector<std::size_t>& samples,
                   const OutputStore& got) {
  std::map<std::string, OutputStats> stats;
  for (std::size_t k = 0; k < samples.size(); ++k) {
    const std::vector<Tensor> ref = reference.get(samples[k]), own = got.get(k);
    for (std::size_t i = 0; i < own.size(); ++i) {
      stats_of(stats, rewritten, rewritten.judged[i]).add_sample(samples[k], ref[i], own[i]);
    }
  }
  return db_of(noise_share(stats));
}

/// How the samples that teach are used.
struct Shares {
  std::vector<std::size_t> teach;   // the repairs that are tried
  std::vector<std::size_t> decide;  // whether they help
  std::vector<std::size_t> all;
  bool halved = false;  // the first two are not the same
};

Shares shares_of(const Subject& subject, const SampleSource& samples) {
  std::vector<std::size_t> all(samples.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  if (count_distinct(samples) < kFewestToHalve || samples.is_random() || !subject.carries.empty())
    return {all, all, all, false};
  Halves halves = halves_by_lot(first_alike(samples));
  return {std::move(halves[0]), std::move(halves[1]), std::move(all), true};
}

/// A network with repairs, as samples taught it.
struct TaughtNetwork {
  RepairState state;
  std::vector<AcceptedProposal> accepted;
  bool rewritten = false;
};

TaughtHalf half_of(TaughtNetwork network, std::vector<std::size_t> unseen) {
  TaughtHalf half;
  half.unseen = std::move(unseen);
  half.tensors = std::move(network.state.plan.tensors);
  half.other_grids = std::move(network.state.plan.other_grids);
  half.constants = std::move(network.state.plan.constants);
  if (network.rewritten) half.rewritten = std::make_unique<Subject>(std::move(network.state.subject));
  return half;
}

/// Whether two plans of one network compute the same.
bool same_numbers(const Plan& a, const Plan& b) {
  return a.layers == b.layers && a.tensors == b.tensors && a.other_grids == b.other_grids &&
         a.constants == b.constants && a.arithmetic == b.arithmetic && a.high == b.high && a.target == b.target;
}

/// Repairs of one network: tried on one half of the samples that teach, decided on the other, taught to any of them.
class NetworkRepair {
 public:
  /// All arguments must outlive it.
  NetworkRepair(const Loaded& loaded, const Experiment& experiment, const RepairOptions& options,
                const Teacher& teacher, const LabelCheck& labels, std::string no_rewrites, const Requirement* enough)
      : loaded_(loaded),
        experiment_(experiment),
        options_(options),
        teacher_(teacher),
        no_rewrites_(std::move(no_rewrites)),
        to_judge_(samples_to_judge(total_macs(experiment))),
        shares_(shares_of(loaded.subject, teacher.samples())),
        own_(loaded.subject) {
    own_.samples = &teacher.samples();
    if (loaded.calibration) float_run_ = teacher.run(own_, experiment.all_low_plan(), /*for_repairs=*/false);
    yardstick_.emplace(own_, float_outputs(), loaded.calibration ? none_ : labels, shares_.halved, enough);
  }

  const Shares& shares() const { return shares_; }

  /// What was tried, with what the one half taught.
  std::vector<RepairTried> climb() {
    const LadderSamples those = shares_.halved ? ladder_samples(shares_.teach, shares_.decide, to_judge_)
                                               : ladder_samples(loaded_.subject, shares_.all.size());
    RepairState start = taught_by(shares_.teach);
    const Plan taught_plan = start.plan;
    overflowing_ = count_overflowing(start);
    RepairLadder ladder(
        std::move(start), teacher_.samples(), those, options_, plan_again(shares_.teach), nearness(shares_.teach),
        [this](const RepairState& state) {
          RoundedWeights weights;
          return yardstick_->measure({{&state.subject, state.plan, &weights, shares_.decide}});
        },
        no_rewrites_);
    ladder.run();
    if (measures_all() && same_numbers(taught_plan, experiment_.all_low_plan())) before_ = ladder.first_error();
    first_ = {std::move(ladder.state()), ladder.accepted(), ladder.rewritten()};
    return ladder.tried();
  }
  /// Of the network without repairs, by whom climb() is decided, if that is all samples that are measured.
  const std::optional<OutputError>& before() const { return before_; }
  /// The same with what climb() accepted.
  std::optional<OutputError> after(const std::vector<AcceptedProposal>& accepted) const {
    return measures_all() && accepted == first_.accepted ? first_.state.output_error : std::nullopt;
  }
  const TaughtNetwork& first() const { return first_; }
  std::size_t overflowing() const { return overflowing_; }  // layers, before climb()

  /// `accepted`, as `samples` teach it.
  TaughtNetwork taught(const std::vector<AcceptedProposal>& accepted, const std::vector<std::size_t>& samples) const {
    if (accepted == first_.accepted && samples == shares_.teach) return first_;
    RepairLadder ladder(taught_by(samples), teacher_.samples(), ladder_samples(samples, samples, to_judge_), options_,
                        plan_again(samples), nearness(samples), {}, no_rewrites_);
    ladder.repeat(accepted);
    return {std::move(ladder.state()), ladder.accepted(), ladder.rewritten()};
  }

 private:
  /// What decides about a repair are the samples that are measured, all of them.
  bool measures_all() const { return !shares_.halved && !loaded_.calibration; }
  /// Of the float model, on the samples that teach.
  const OutputStore& float_outputs() const {
    return loaded_.calibration ? float_run_.outputs : experiment_.reference().outputs;
  }
  /// Those of `samples` that a network is taught by.
  std::vector<std::size_t> lesson(const std::vector<std::size_t>& samples) const {
    return shares_.halved ? evenly(samples, kMostToTeach) : samples;
  }

  void teach(RepairState& state, const std::vector<std::size_t>& samples) const {
    AssignedFormats unscaled = teacher_.unscaled(state.subject);
    state.plan = std::move(unscaled.plan);
    state.plan.model_file = experiment_.all_low_plan().model_file;
    state.plan.model_sha256 = experiment_.all_low_plan().model_sha256;
    state.candidates = std::move(unscaled.candidates);
    const ChosenSamples some(teacher_.samples(), lesson(samples));
    Subject own = state.subject;
    own.samples = &some;
    Reference seen = teacher_.run(own, state.plan, /*for_repairs=*/true);
    teacher_.set_scales(state.plan, own, seen);
    state.reference = std::make_shared<const Reference>(std::move(seen));
  }

  RepairState taught_by(const std::vector<std::size_t>& samples) const {
    RepairState state{loaded_.subject, {}, {}, {}, {}};
    teach(state, samples);
    const std::map<std::string, QuantParams> learned = state.plan.tensors;
    teacher_.keep_given_scales(state.plan, state.subject);
    for (const auto& [tensor, grid] : state.plan.tensors) {
      if (grid != learned.at(tensor)) state.given.insert(tensor);
    }
    return state;
  }

  PlanAgain plan_again(const std::vector<std::size_t>& samples) const {
    return [this, samples](RepairState& state) { teach(state, samples); };
  }

  /// By the run that taught the rewritten network, which costs no other one.
  Nearness nearness(const std::vector<std::size_t>& samples) const {
    const std::vector<std::size_t> those = lesson(samples);
    return {[this, those](const RepairState& state) {
              return nearness_db(state.subject, float_outputs(), those, state.reference->outputs);
            },
            [this, those, known = std::optional<double>()]() mutable {
              if (!known) known = own_nearness(of_noise(those));
              return *known;
            }};
  }

  /// Of a sequence the first: a state comes from the samples in front.
  std::vector<std::size_t> of_noise(const std::vector<std::size_t>& samples) const {
    if (own_.carries.empty()) return evenly(samples, kSamplesOfNoise);
    return {samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(std::min(samples.size(), kSamplesOfNoise))};
  }

  double own_nearness(const std::vector<std::size_t>& samples) const {
    const ChosenSamples some(teacher_.samples(), samples);
    Subject noisy = own_;
    noisy.samples = &some;
    noisy.model = with_rounding_noise(own_.model);
    noisy.layers = measured_layers(noisy.model);
    return nearness_db(noisy, float_outputs(), samples, run_reference(noisy, {}).outputs);
  }

  const Loaded& loaded_;
  const Experiment& experiment_;
  const RepairOptions& options_;
  const Teacher& teacher_;
  const std::string no_rewrites_;
  const std::size_t to_judge_;  // samples, layer by layer
  const Shares shares_;
  Subject own_;          // the float model, on the samples that teach
  Reference float_run_;  // over these, where they are others than those that are measured
  const LabelCheck none_;
  std::optional<Yardstick> yardstick_;
  std::optional<OutputError> before_;
  TaughtNetwork first_;
  std::size_t overflowing_ = 0;
};

/// A repaired network and how it compares. What all samples that teach taught it is there where it was needed for that.
struct Attempt {
  std::optional<TaughtNetwork> taught;
  std::shared_ptr<CrossFit> halves;
  std::vector<PlannedLayer> layers{};       // of the halves
  std::unique_ptr<KnownTrials> outcomes{};  // of these; without halves of `taught`
  OutputError error;
};

/// An infinity that a Tanh behind it hides costs nothing here, and is one step from NaN; one that is left hides what
/// was gained, and the search keeps its layer.
bool makes_finite(const std::vector<RepairTried>& tried) {
  return std::ranges::any_of(tried, [](const RepairTried& row) {
    return row.accepted && row.before_db && *row.before_db == -std::numeric_limits<double>::infinity();
  });
}

bool gains(const OutputError& before, const OutputError& after, bool finite_again) {
  if (agreement_change(before.moved, after.moved).costs()) return false;
  if (finite_again) return after.telling <= before.telling || no_worse(before, after);
  return surely_better(before, after) && (after.telling < before.telling || !std::isfinite(after.telling));
}

/// Rows of repairs that are no part of `accepted`.
void take_back_others(const std::vector<AcceptedProposal>& accepted, std::vector<RepairTried>& tried,
                      const std::string& why) {
  for (RepairTried& row : tried) {
    const bool there = std::ranges::any_of(
        accepted, [&](const AcceptedProposal& one) { return one.repair == row.id && one.layers == row.layers; });
    if (!row.accepted || there) continue;
    row.accepted = false;
    row.why += "; " + why;
  }
}

}  // namespace

TriedRepairs try_repairs(const Loaded& loaded, Experiment& experiment, const PrecisionOptions& precision,
                         const RepairOptions& options, const Teacher& teacher, bool ranges_cached, CrossFit* plain,
                         const LabelCheck& labels, const Requirement* enough) {
  const Subject& subject = loaded.subject;
  std::string no_rewrites;
  if (loaded.inlined_ifs) no_rewrites = "the float model contains If nodes, so it is not rewritten";
  const bool scaled = std::ranges::any_of(precision.low, needs_scale);
  if (ranges_cached && scaled)
    no_rewrites = "its ranges come from a calibration cache, which a rewrite would invalidate";

  NetworkRepair repair(loaded, experiment, options, teacher, labels, no_rewrites, enough);
  TriedRepairs repaired;
  repaired.tried = repair.climb();
  const std::vector<AcceptedProposal> accepted = repair.first().accepted;
  if (accepted.empty()) return repaired;

  // Judged on samples that taught nothing, where there are such.
  Yardstick yardstick(subject, experiment.reference().outputs, labels, plain != nullptr || loaded.calibration);
  const auto measure_one = [&](const Subject& network, const Plan& plan, KnownTrials& outcomes) {
    RoundedWeights weights;
    const KnownPlan seen{outcomes, {}};
    return yardstick.measure({{&network, plan, &weights, all_samples(subject)}}, &seen);
  };
  const auto measure_low = [&] {
    KnownTrials unused;
    const std::optional<OutputError> known =
        experiment.golden() == nullptr ? yardstick.of_outputs(experiment.all_low().outputs) : std::nullopt;
    return known ? *known : measure_one(subject, experiment.all_low_plan(), unused);
  };
  const auto measure_plain = [&] {
    const std::optional<KnownPlan> known =
        experiment.golden() == nullptr ? experiment.known(experiment.all_low_plan()) : std::nullopt;
    return yardstick.measure(plain->networks(subject, experiment.all_low_plan()), known ? &*known : nullptr);
  };
  const OutputError before = plain != nullptr ? measure_plain() : repair.before() ? *repair.before() : measure_low();
  const Shares& shares = repair.shares();
  const auto attempt = [&](const std::vector<AcceptedProposal>& some) {
    Attempt one;
    one.outcomes = std::make_unique<KnownTrials>();
    if (plain == nullptr) {
      one.taught = repair.taught(some, shares.all);
      const std::optional<OutputError> known = repair.after(some);
      one.error = known ? *known : measure_one(one.taught->state.subject, one.taught->state.plan, *one.outcomes);
      return one;
    }
    TaughtNetwork first = repair.taught(some, shares.teach);
    const Plan formats = first.state.plan;  // of the layers, which are the same in both halves
    one.halves = std::make_shared<CrossFit>(std::array{half_of(std::move(first), shares.decide),
                                                       half_of(repair.taught(some, shares.decide), shares.teach)});
    const KnownPlan seen{*one.outcomes, {}};
    one.error = yardstick.measure(one.halves->networks(subject, formats), &seen);
    one.layers = formats.layers;
    return one;
  };

  std::vector<AcceptedProposal> stays = accepted;
  Attempt all = attempt(stays);
  const bool finite_again =
      makes_finite(repaired.tried) || count_overflowing(repair.first().state) < repair.overflowing();
  AgreementChange classes = agreement_change(before.moved, all.error.moved);
  const std::string why = classes.costs()
                              ? "with all of them " + change_text(classes, all.error.moved_words)
                              : "with all accepted repairs the whole network gains less than two standard errors";
  if (!gains(before, all.error, finite_again)) {
    // One kind may undo what others gain: those that gain alone are tried together.
    std::vector<AcceptedProposal> good;
    std::set<std::string> kinds;
    for (const AcceptedProposal& one : accepted) kinds.insert(one.repair);
    for (const std::string& kind : kinds) {
      std::vector<AcceptedProposal> alone;
      std::ranges::copy_if(accepted, std::back_inserter(alone),
                           [&](const AcceptedProposal& one) { return one.repair == kind; });
      if (kinds.size() > 1 && gains(before, attempt(alone).error, finite_again)) {
        good.insert(good.end(), alone.begin(), alone.end());
      }
    }
    take_back_others(good, repaired.tried, why + ": " + (good.empty() ? "nothing was changed" : "undone"));
    if (good.empty()) return repaired;
    stays = std::move(good);
    all = attempt(stays);
    classes = agreement_change(before.moved, all.error.moved);
    if (!gains(before, all.error, finite_again)) {
      take_back(repaired.tried, why + ": nothing was changed");
      return repaired;
    }
  }
  if (!all.taught) all.taught = repair.taught(stays, shares.all);
  // The halves were repaired apart, and may have gained by chance. The samples that taught the file flatter it.
  KnownTrials own;
  if (plain != nullptr) {
    const OutputError without = measure_low();
    const OutputError with = measure_one(all.taught->state.subject, all.taught->state.plan, own);
    if (!gains(without, with, finite_again)) {
      const AgreementChange lost = agreement_change(without.moved, with.moved);
      take_back(repaired.tried, lost.costs()
                                    ? "on the samples that taught it the file " + change_text(lost, with.moved_words)
                                    : "on the samples that taught it the file gains less than two standard errors");
      return repaired;
    }
  }
  take_back_others(all.taught->accepted, repaired.tried, "all samples together do not need it");
  repaired.changed = true;
  repaired.rewritten = all.taught->rewritten;
  repaired.state = std::move(all.taught->state);
  repaired.halves = std::move(all.halves);
  // From here on the halves have the layers of the network that all samples taught.
  if (plain != nullptr && all.layers == repaired.state.plan.layers) repaired.unseen = all.outcomes->of({});
  repaired.own = plain != nullptr ? own.of({}) : all.outcomes->of({});
  repaired.notes.push_back(
      {"repairs-together",
       {{"with", db_of(all.error.noise)},
        {"without", db_of(before.noise)},
        {"change", classes.worse > classes.better ? change_text(classes, all.error.moved_words) : ""}}});
  return repaired;
}

std::map<std::string, Shape> first_shapes(const Subject& repaired, const Loaded& loaded, const Reference& learned) {
  if (!loaded.calibration) return learned.shapes;
  std::set<std::string> observed;
  for (const auto& [tensor, shape] : learned.shapes) observed.insert(tensor);
  const std::shared_ptr<const SampleSource> first = samples_in_memory({loaded.samples->at(0)}, "the first sample");
  Subject own = repaired;
  own.samples = first.get();
  return run_reference(own, observed).shapes;
}

void take_back(std::vector<RepairTried>& tried, const std::string& why) {
  for (RepairTried& row : tried) {
    if (!row.accepted) continue;
    row.accepted = false;
    row.why += "; " + why;
  }
}

}  // namespace vernier
