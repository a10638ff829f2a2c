#include "jobs/diagnose/repair_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <memory>
#include <set>

#include "analysis/figures.h"
#include "analysis/lost_agreement.h"
#include "base/text.h"
#include "jobs/common/calibrated_plan.h"
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

/// What repairs want to know the ranges of: what calibration does, and in float16 every tensor that a layer reads.
std::set<std::string> tensors_of_interest(const Subject& subject, const Plan& plan) {
  std::set<std::string> observed = tensors_to_observe(subject);
  observed.merge(tensors_to_calibrate(subject.model, subject.layers, plan));
  for (const Layer& layer : subject.layers) {
    if (plan.format_of(layer.name) == Format::Float16) observed.insert(layer.inputs.begin(), layer.inputs.end());
  }
  return observed;
}

/// A run over the samples that ranges are learned on.
Reference learning_run(const Subject& subject, const Plan& plan, const Loaded& loaded) {
  Subject own = subject;
  if (loaded.calibration) own.samples = loaded.calibration.get();
  std::set<std::string> counted;
  for (const auto& [tensor, format] : formats_to_calibrate(subject.model, subject.layers, plan)) counted.insert(tensor);
  return run_reference(own, tensors_of_interest(subject, plan), counted);
}

/// SQNR of the worst judged output of `model` against the outputs of the float model.
double nearness_db(const Subject& rewritten, const Reference& reference) {
  std::map<std::string, OutputStats> stats;
  run_outputs(rewritten, rewritten.model, all_samples(rewritten),
              [&](std::size_t sample, const std::vector<Tensor>& got) {
                const std::vector<Tensor> ref = reference.outputs.get(sample);
                for (std::size_t i = 0; i < got.size(); ++i) {
                  stats_of(stats, rewritten, rewritten.judged[i]).add_sample(sample, ref[i], got[i]);
                }
                return true;
              });
  return db_of(noise_share(stats));
}

/// Labels say more than the float model's classes do. `error` is of the samples that `labels` are of.
void judge_by(const LabelCheck& labels, const Subject& subject, const Plan& plan, OutputError& error) {
  if (!labels) return;
  RoundedWeights weights;
  error.moved.assign(subject.samples->size(), 0);
  error.moved_words = "a right label";
  run_outputs(subject, lower_simulated(subject.model, subject.layers, plan, weights), all_samples(subject),
              [&](std::size_t sample, const std::vector<Tensor>& got) {
                error.moved[sample] = labels(sample, got) ? 0 : 1;
                return true;
              });
}

/// `labels` may be empty.
OutputError evaluate(const Subject& subject, const Plan& plan, const Reference& reference, const LabelCheck& labels) {
  RoundedWeights weights;
  const TrialResult trial =
      run_trial(subject, plan, reference, weights, nullptr, all_samples(subject), /*early_stop=*/false);
  OutputError error{noise_share(trial.outputs), trial.sample_log_noise, rows_moved(subject, trial.outputs)};
  judge_by(labels, subject, plan, error);
  return error;
}

/// Takes everything back where all repairs together leave the network no better than `before`.
void judge(RepairedNetwork& repaired, const Loaded& loaded, const Reference& reference, const OutputError& before,
           const LabelCheck& labels) {
  if (std::ranges::none_of(repaired.tried, &RepairTried::accepted)) return;
  const OutputError error = loaded.calibration
                                ? evaluate(repaired.state.subject, repaired.state.plan, reference, labels)
                                : repaired.state.output_error.value_or(before);
  const double after = error.noise;
  const AgreementChange classes = agreement_change(before.moved, error.moved);
  // An infinity that a Tanh behind it hides costs nothing here, and is one step from NaN; one that is left hides what
  // was gained, and the search keeps its layer.
  const bool finite_again = std::ranges::any_of(repaired.tried, [](const RepairTried& row) {
    return row.accepted && row.before_db && *row.before_db == -std::numeric_limits<double>::infinity();
  });
  repaired.changed =
      !classes.costs() && (after < before.noise || (after == before.noise && (finite_again || !std::isfinite(after))));
  if (!repaired.changed) {
    take_back(repaired.tried,
              classes.costs() ? "with all of them " + change_text(classes, error.moved_words) + ": nothing was changed"
                              : "the network as a whole is not better: nothing was changed");
    repaired.rewritten = false;
    return;
  }
  repaired.notes.push_back(fmt::format(
      "all accepted repairs together: {:.1f} dB of the worst output, {:.1f} dB without{}", db_of(after),
      db_of(before.noise),
      classes.worse > classes.better ? "; " + change_text(classes, error.moved_words) + ": within noise" : ""));
}

}  // namespace

RepairedNetwork repair_network(const Loaded& loaded, const Experiment& experiment, const PrecisionOptions& precision,
                               const RepairOptions& options, bool ranges_cached, const LabelCheck& labels) {
  const Subject& subject = loaded.subject;
  const Reference& reference = experiment.reference;
  OutputError before{noise_share(experiment.all_low().outputs), {}, rows_moved(subject, experiment.all_low().outputs)};
  judge_by(labels, subject, experiment.all_low_plan(), before);
  std::string no_rewrites;
  if (loaded.inlined_ifs) no_rewrites = "the float model has Ifs, and is not rewritten";
  const bool scaled = std::ranges::any_of(precision.low, needs_scale);
  if (ranges_cached && scaled) no_rewrites = "its ranges come from a calibration cache, which a rewrite would outdate";

  const PlanAgain plan_again = [&](RepairState& state) {
    AssignedFormats assigned = assign_formats(state.subject.model, state.subject.layers, precision);
    state.plan = std::move(assigned.plan);
    state.plan.model_file = experiment.all_low_plan().model_file;
    state.plan.model_sha256 = experiment.all_low_plan().model_sha256;
    state.candidates = std::move(assigned.candidates);
    state.reference = learning_run(state.subject, state.plan, loaded);
    const auto tensors = formats_to_calibrate(state.subject.model, state.subject.layers, state.plan);
    Subject own = state.subject;
    if (loaded.calibration) own.samples = loaded.calibration.get();
    const LearnedRanges learned =
        learn_ranges(own, state.plan, tensors, precision.calibration, state.reference, nullptr);
    calibrate_plan(state.plan, state.subject.model, state.subject.layers, learned.chosen.ranges);
    return nearness_db(state.subject, reference);
  };

  const SampleSource& learning = loaded.calibration ? *loaded.calibration : *loaded.samples;
  bool doubted = false;
  // Kinds of repairs are chosen on the calibration samples, where there are such; the others judge the result.
  const auto climb = [&](bool trusting) {
    RepairState start{subject,
                      experiment.all_low_plan(),
                      experiment.candidate_names(),
                      learning_run(subject, experiment.all_low_plan(), loaded),
                      {}};
    if (!loaded.calibration) start.output_error = before;
    const MeasureOutput measure_output = [&, trusting](const RepairState& state) {
      Subject own = state.subject;
      own.samples = &learning;
      OutputError error = loaded.calibration ? evaluate(own, state.plan, state.reference, {})
                                             : evaluate(own, state.plan, reference, labels);
      if (!loaded.calibration || !trusting) error.sample_log_noise.clear();
      return error;
    };
    RepairLadder ladder(std::move(start), learning, options, plan_again, measure_output, no_rewrites);
    ladder.run();
    doubted = ladder.doubted();
    RepairedNetwork repaired;
    repaired.tried = ladder.tried();
    repaired.rewritten = ladder.rewritten();
    repaired.state = std::move(ladder.state());
    judge(repaired, loaded, reference, before, labels);
    return repaired;
  };
  RepairedNetwork repaired = climb(/*trusting=*/true);
  if (!repaired.changed && doubted) repaired = climb(/*trusting=*/false);
  return repaired;
}

std::map<std::string, Shape> first_shapes(const Loaded& loaded, const Reference& learned) {
  if (!loaded.calibration) return learned.shapes;
  std::set<std::string> observed;
  for (const auto& [tensor, shape] : learned.shapes) observed.insert(tensor);
  const std::shared_ptr<const SampleSource> first = samples_in_memory({loaded.samples->at(0)}, "the first sample");
  Subject own = loaded.subject;
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
