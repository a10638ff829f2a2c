// What a diagnosis claims of samples that taught nothing.

#include <algorithm>
#include <cstddef>
#include <cstdint>
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
#include "jobs/diagnose/written_model.h"
#include "jobs/diagnose/yardstick.h"
#include "jobs/search/judge.h"
#include "report/text/figures.h"
#include "vernier/format.h"
#include "vernier/report/figures.h"
#include "vernier/report/kept_set.h"

namespace vernier {
namespace {

/// Adds what the written file's own samples leave open. A half of the samples taught each network that is judged, all
/// of them the file: it may be better, but not than on the samples that taught it. It may be worse too, as a range over
/// all samples is wider than that of a half, and its steps are coarser.
void span_both(RunFigures& unseen, const RunFigures& in_sample) {
  for (std::size_t i = 0; i < std::min(unseen.outputs.size(), in_sample.outputs.size()); ++i) {
    OutputFigure& figure = unseen.outputs[i];
    const OutputFigure& own = in_sample.outputs[i];
    if (figure.sqnr_above && own.sqnr_above) figure.sqnr_above = std::min(*figure.sqnr_above, *own.sqnr_above);
    if (!figure.sqnr_interval || !own.sqnr_interval) continue;
    figure.sqnr_interval->low = std::min(figure.sqnr_interval->low, own.sqnr_interval->low);
    figure.sqnr_interval->high = std::max(figure.sqnr_interval->high, own.sqnr_interval->high);
  }
}

}  // namespace

AllLow all_low_on_unseen(const DiagnosisRun& run, MeasuredNetwork& network, RunFigures figures) {
  Experiment& experiment = network.experiment;
  const std::map<std::string, OutputStats> outputs = experiment.outputs_on_unseen(network.all_low_plan());
  const Subject& subject = network.subject();
  return {std::move(figures), figures_of(subject, outputs, run.requirement()), rows_moved(subject, outputs)};
}

RunFigures on_unseen(const DiagnosisRun& run, MeasuredNetwork& network, const Plan& plan) {
  Experiment& experiment = network.experiment;
  return figures_of(network.subject(), experiment.outputs_on_unseen(plan), run.requirement(),
                    experiment.low_outputs(plan));
}

void judge_unseen(MeasuredNetwork& network, TestRow& test, const KeptSetReport& kept) {
  Experiment& experiment = network.experiment;
  const Plan plan = experiment.plan_of(kept);
  Judge judge(experiment, network.model().objective.get(), /*early_stop=*/false);
  const Trial trial = judge.of_outputs(
      [&](const auto& order, const VisitOutputs& visit) { experiment.unseen()->visit(plan, order, visit); });
  test.verdict = trial.verdict == Verdict::Good ? Verdict::Good : Verdict::Bad;
  test.metric = trial.metric;
  test.damage = trial.damage;
  test.needs = trial.why;
  if (test.interval) test.interval = share_interval(test.metric, test.samples);
}

void claim_unseen(const DiagnosisRun& run, MeasuredNetwork& network, Verification& verified) {
  verified.in_sample = std::move(verified.figures);
  RunFigures unseen = on_unseen(run, network, network.plan_of(run.report.kept));
  span_both(unseen, *verified.in_sample);
  unseen.nonfinite_inside = verified.in_sample->nonfinite_inside;
  // The written file has the last word on its own samples too: the halves are simulated from plans.
  if (unseen.damage && verified.in_sample->damage > unseen.damage) {
    unseen.damage = verified.in_sample->damage;
    unseen.passed = *unseen.damage <= 1;
  }
  verified.figures = std::move(unseen);
}

void compare_on_unseen(DiagnoseReport& report, const AllLow& low, const AllLow& worked_on) {
  const auto on_same_samples = [](const AllLow& one) {
    RunFigures unseen = *one.unseen;
    span_both(unseen, one.figures);
    return unseen;
  };
  report.all_low = on_same_samples(low);
  if (report.repaired) report.repaired = on_same_samples(worked_on);
}

void compare_classes(DiagnosisRun& run, MeasuredNetwork& network, const std::vector<std::int64_t>& moved_low) {
  DiagnoseReport& report = run.report;
  Experiment& experiment = network.experiment;
  const Subject& subject = network.subject();
  if (!report.final_figures) return;
  const std::optional<double> before = same_top1(report.all_low), after = same_top1(*report.final_figures);
  if (!before || !after || *after >= *before) return;
  const Plan plan = network.plan_of(run.report.kept);
  const std::map<std::string, OutputStats> outputs =
      network.halves ? experiment.outputs_on_unseen(plan)
                     : run_trial(subject, plan, experiment.judged_against(), experiment.weights, run.requirement(),
                                 all_samples(subject), /*early_stop=*/false)
                           .outputs;
  report.top1_change = agreement_change(moved_low, rows_moved(subject, outputs));
}

void look_in_front_of_softmaxes(DiagnosisRun& run, MeasuredNetwork& network) {
  DiagnoseReport& report = run.report;
  RunFigures& figures = report.final_figures ? *report.final_figures
                        : report.repaired    ? *report.repaired
                                             : report.all_low;
  const Subject& subject = network.subject();
  const std::vector<JudgedTensor> judged = judged_tensors(subject);
  const auto softmax_of = [&](const OutputFigure& figure) {
    const auto found = std::ranges::find(judged, figure.name, &JudgedTensor::output);
    return figure.heavy_tail && found != judged.end() && !found->softmax.empty() ? &*found : nullptr;
  };
  if (std::ranges::none_of(figures.outputs, softmax_of)) return;
  const Plan plan = network.plan_of(run.report.kept);
  std::vector<JudgedNetwork> networks{{&subject, plan, &network.experiment.weights, all_samples(subject)}};
  if (network.halves) networks = network.halves->networks(subject, plan);
  for (JudgedNetwork& one : networks) one.samples = evenly(one.samples, kMostToTeach);
  const LabelCheck no_labels;
  Yardstick yardstick(subject, network.experiment.reference().outputs, no_labels, /*unseen=*/network.halves != nullptr);
  const std::map<std::string, OutputStats> inputs = yardstick.measure(networks).in_front;
  const double confidence = run.requirement() != nullptr ? run.requirement()->confidence : 0.5;
  for (OutputFigure& figure : figures.outputs) {
    const JudgedTensor* const softmax = softmax_of(figure);
    if (softmax == nullptr) continue;
    const OutputStats& stats = inputs.at(figure.name);
    figure.softmax_input = SoftmaxInput{softmax->name_in(subject.model), sqnr_db(stats.pooled), {}};
    const std::optional<SqnrSpread> spread = SqnrSpread::of(stats.each);
    if (spread && confidence > 0.5) figure.softmax_input->sqnr_above = spread->above(confidence);
  }
}

}  // namespace vernier
