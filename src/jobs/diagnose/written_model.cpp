#include "jobs/diagnose/written_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/figures.h"
#include "analysis/trials.h"
#include "causes/cause.h"
#include "jobs/verify/pair_saturation.h"
#include "jobs/verify/verify.h"
#include "plan/engine_sums.h"
#include "plan/rules/rules.h"
#include "vernier/arithmetic.h"
#include "vernier/format.h"
#include "vernier/report/causes.h"
#include "vernier/report/kept_set.h"
#include "vernier/target.h"

namespace vernier {

void show(const Verification& verified, DiagnoseReport& report) {
  report.final_figures = verified.figures;
  report.in_sample = verified.in_sample;
  report.other_sums = verified.other_sums;
  report.saturated_pairs = verified.saturated_pairs;
  report.not_simulated = verified.not_simulated;
  report.engine = verified.engine;
}

void write_typed(DiagnosisRun& run, MeasuredNetwork& network) {
  network.experiment.forget_switched();  // sessions of the file come in its place
  run.step("output model", [&] {
    run.writing([&] { run.report.typed = network.typed.write(network.plan_of(run.report.kept), run.report.files); });
  });
}

Verification write_and_verify(DiagnosisRun& run, MeasuredNetwork& network) {
  const std::optional<KeptSetReport>& kept = run.report.kept;
  Verification result;
  show(result, run.report);
  // No choice of layers helps: a file with everything in the high format would pass for an answer.
  if (kept && kept->end == SearchEnd::Impossible) return result;
  write_typed(run, network);
  if (run.options.output.empty() && !kept) return result;  // nothing to claim: all low was measured already
  if (run.interrupted()) return result;
  run.step("verify", [&] {
    result = network.typed.verify(network.measured);
    if (network.halves) claim_unseen(run, network, result);
    if (run.options.trials_on_engine && result.engine_test) result.file_test = result.engine_test;  // as in every trial
    show(result, run.report);
  });
  return result;
}

bool sums_may_differ(const Plan& all_low) {
  return all_low.target == Target::TensorRt && std::ranges::any_of(all_low.layers, [](const PlannedLayer& layer) {
           return layer.format == Format::Float16 || layer.format == Format::BFloat16;
         });
}

OtherSums all_low_with_other_sums(DiagnosisRun& run, MeasuredNetwork& network) {
  Plan plan = network.all_low_plan();
  plan.arithmetic = other_arithmetic(plan.arithmetic);
  const TrialResult trial =
      run_trial(network.subject(), plan, network.experiment.judged_against(), network.experiment.weights,
                run.requirement(), all_samples(network.subject()), /*early_stop=*/false);
  return {plan.arithmetic.accumulate, figures_of(network.subject(), trial.outputs, run.requirement())};
}

namespace {

/// Tells in causes of this kind what saturation adds to the noise of the network with everything low, on such CPUs
/// alone: it is no part of the damage that others share. `low`: as measured there.
void add_saturation(const std::optional<SaturatedPairs>& low, std::vector<Cause>& causes) {
  if (!low) return;
  for (Cause& cause : causes) {
    const auto layer = std::ranges::find(low->layers, cause.layer, &SaturatedPairs::Layer::name);
    if (cause.id != causes::kPairSaturation || layer == low->layers.end() || !layer->share) continue;
    cause.figures.push_back({"noise of such CPUs", 100 * *layer->share, "%"});
    cause.sentence += fmt::format(" On such a CPU it adds {:.0f} % of the noise (simulated).", 100 * *layer->share);
  }
}

}  // namespace

void report_saturation(DiagnosisRun& run, MeasuredNetwork& network) {
  DiagnoseReport& report = run.report;
  RunFigures exact;
  const auto is_saturation = [](const Cause& cause) { return cause.id == causes::kPairSaturation; };
  const bool explained = report.explanation && std::ranges::any_of(report.explanation->causes, is_saturation);
  std::optional<SaturatedPairs> low;
  if (report.final_figures) {
    exact = report.in_sample ? *report.in_sample : *report.final_figures;  // what saturates was measured there
  } else {
    VerifyReport measured = network.typed.measured(network.all_low_plan());
    low = report.saturated_pairs = std::move(measured.saturated_pairs);
    report.not_simulated = std::move(measured.not_simulated);
    if (report.not_simulated) run.warn(computes_otherwise_note(*report.not_simulated));
    exact = std::move(measured.figures);
  }
  if (explained && report.final_figures) low = network.typed.measured(network.all_low_plan()).saturated_pairs;
  if (explained) add_saturation(low, report.explanation->causes);
  if (!report.saturated_pairs) return;
  report.saturated_pairs->reduced =
      network.typed.with_reduced_range(report.final_figures ? network.plan_of(report.kept) : network.all_low_plan());
  run.warn(saturation_note(*report.saturated_pairs, exact, report.requirement, report.in_sample.has_value()));
}

}  // namespace vernier
