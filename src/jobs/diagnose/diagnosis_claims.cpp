// What a diagnosis claims of samples that taught nothing.

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/alike_samples.h"
#include "analysis/figures.h"
#include "analysis/judged_tensors.h"
#include "analysis/lost_agreement.h"
#include "analysis/sampling_interval.h"
#include "analysis/some_samples.h"
#include "analysis/trials.h"
#include "jobs/diagnose/cross_fit.h"
#include "jobs/diagnose/diagnosis.h"
#include "jobs/diagnose/teach.h"
#include "jobs/diagnose/yardstick.h"
#include "jobs/search/judge.h"
#include "report/text/figures.h"
#include "vernier/format.h"
#include "vernier/report/figures.h"
#include "vernier/report/kept_set.h"

namespace vernier {
namespace {

/// A half of the samples taught each network that is judged, all of them the written file. It may be better, but not
/// than on the samples that taught it.
void widen_upwards(RunFigures& unseen, const RunFigures& in_sample) {
  for (std::size_t i = 0; i < std::min(unseen.outputs.size(), in_sample.outputs.size()); ++i) {
    std::optional<SamplingInterval>& held_out = unseen.outputs[i].sqnr_interval;
    const std::optional<SamplingInterval>& own = in_sample.outputs[i].sqnr_interval;
    if (held_out && own) held_out->high = std::max(held_out->high, own->high);
  }
}

/// The claim of the written file's own samples, if lower: a range over all samples is wider than that of a half, and
/// its steps are coarser.
void claim_no_more(RunFigures& unseen, const RunFigures& in_sample) {
  for (std::size_t i = 0; i < std::min(unseen.outputs.size(), in_sample.outputs.size()); ++i) {
    OutputFigure& figure = unseen.outputs[i];
    const std::optional<double>& own = in_sample.outputs[i].sqnr_above;
    if (!figure.sqnr_above || !own) continue;
    figure.sqnr_above = std::min(*figure.sqnr_above, *own);
    if (figure.sqnr_interval) figure.sqnr_interval->low = std::min(figure.sqnr_interval->low, *figure.sqnr_above);
  }
}

}  // namespace

bool Diagnosis::cross_fits() const {
  const SearchOptions& search = options_.search;
  // A script is shown the samples without their numbers, and may know what belongs to them by their order.
  const bool others_decide = search.task.function || search.task.metric || search.check || search.compare;
  const bool halved = options_.measure.cross_fit && count_distinct(*loaded_.samples) >= kFewestToHalve &&
                      !loaded_.samples->is_random() && !loaded_.calibration && subject().carries.empty();
  const bool learns = teacher_->learns_ranges(subject(), all_low_plan()) ||
                      (repairs_ != nullptr && std::ranges::any_of(options_.precision.low, needs_scale));
  return halved && !others_decide && learns;
}

void Diagnosis::judge_on_unseen() {
  experiment_->judge_on_unseen(halves_ ? halves_->networks(subject(), all_low_plan()) : std::vector<JudgedNetwork>());
}

RunFigures Diagnosis::on_unseen(const Plan& plan) { return unseen_figures(experiment_->outputs_on_unseen(plan)); }

RunFigures Diagnosis::unseen_figures(const std::map<std::string, OutputStats>& outputs) {
  return figures_of(subject(), outputs, requirement(), experiment_->low_outputs());
}

void Diagnosis::all_low_on_unseen() {
  const std::map<std::string, OutputStats> outputs = experiment_->outputs_on_unseen(all_low_plan());
  moved_low_ = rows_moved(subject(), outputs);
  unseen_low_ = unseen_figures(outputs);
}

void Diagnosis::judge_unseen(TestRow& test, const KeptSetReport& kept) {
  const Plan plan = experiment_->plan_of(kept);
  Judge judge(*experiment_, objective_.get(), /*early_stop=*/false);
  const Trial trial = judge.of_outputs(
      [&](const auto& order, const VisitOutputs& visit) { experiment_->unseen()->visit(plan, order, visit); });
  test.verdict = trial.verdict == Verdict::Good ? Verdict::Good : Verdict::Bad;
  test.metric = trial.metric;
  test.damage = trial.damage;
  test.needs = trial.why;
  if (test.interval) test.interval = share_interval(test.metric, test.samples);
}

void Diagnosis::claim_unseen() {
  report_.in_sample = report_.final_figures;
  RunFigures unseen = on_unseen(final_plan());
  widen_upwards(unseen, *report_.in_sample);
  claim_no_more(unseen, *report_.in_sample);
  unseen.nonfinite_inside = report_.in_sample->nonfinite_inside;
  // The written file has the last word on its own samples too: the halves are simulated from plans.
  if (unseen.damage && report_.in_sample->damage > unseen.damage) {
    unseen.damage = report_.in_sample->damage;
    unseen.passed = *unseen.damage <= 1;
  }
  report_.final_figures = std::move(unseen);
}

void Diagnosis::compare_on_unseen() {
  widen_upwards(*unseen_low_, report_.all_low);
  report_.all_low = *unseen_low_;
  if (!report_.repaired) return;
  widen_upwards(*unseen_repaired_, *report_.repaired);
  report_.repaired = *unseen_repaired_;
}

void Diagnosis::compare_classes() {
  if (!report_.final_figures) return;
  const std::optional<double> before = same_top1(report_.all_low), after = same_top1(*report_.final_figures);
  if (!before || !after || *after >= *before) return;
  const Plan plan = final_plan();
  const std::map<std::string, OutputStats> outputs =
      halves_ ? experiment_->outputs_on_unseen(plan)
              : run_trial(subject(), plan, experiment_->judged_against(), experiment_->weights, requirement(),
                          all_samples(subject()), /*early_stop=*/false)
                    .outputs;
  report_.top1_change = agreement_change(moved_low_, rows_moved(subject(), outputs));
}

void Diagnosis::look_in_front_of_softmaxes() {
  RunFigures& run = report_.final_figures ? *report_.final_figures : report_.all_low;
  const std::vector<JudgedTensor> judged = judged_tensors(subject());
  const auto softmax_of = [&](const OutputFigure& figure) {
    const auto found = std::ranges::find(judged, figure.name, &JudgedTensor::output);
    return figure.heavy_tail && found != judged.end() && !found->softmax.empty() ? &*found : nullptr;
  };
  if (std::ranges::none_of(run.outputs, softmax_of)) return;
  const Plan plan = final_plan();
  std::vector<JudgedNetwork> networks{{&subject(), plan, &experiment_->weights, all_samples(subject())}};
  if (halves_) networks = halves_->networks(subject(), plan);
  for (JudgedNetwork& network : networks) network.samples = evenly(network.samples, kMostToTeach);
  const LabelCheck no_labels;
  Yardstick yardstick(subject(), experiment_->reference.outputs, no_labels, /*unseen=*/halves_ != nullptr);
  const std::map<std::string, OutputStats> inputs = yardstick.measure(networks).in_front;
  const double confidence = requirement() != nullptr ? requirement()->confidence : 0.5;
  for (OutputFigure& figure : run.outputs) {
    const JudgedTensor* const softmax = softmax_of(figure);
    if (softmax == nullptr) continue;
    const OutputStats& stats = inputs.at(figure.name);
    figure.softmax_input = SoftmaxInput{softmax->name_in(subject().model), sqnr_db(stats.pooled), {}};
    const std::optional<SqnrSpread> spread = SqnrSpread::of(stats.each);
    if (spread && confidence > 0.5) figure.softmax_input->sqnr_above = spread->above(confidence);
  }
}

}  // namespace vernier
