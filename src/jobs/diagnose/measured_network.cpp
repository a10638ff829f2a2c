#include "jobs/diagnose/measured_network.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include "analysis/figures.h"
#include "analysis/match_layers.h"
#include "analysis/own_error.h"
#include "analysis/trials.h"
#include "jobs/diagnose/network_nodes.h"

namespace vernier {

MeasuredNetwork::MeasuredNetwork(DiagnosisRun& run, std::shared_ptr<const CalibratedModel> calibrated,
                                 NetworkVariant variant)
    : from(std::move(calibrated)),
      halves(std::move(variant.halves)),
      experiment(std::move(variant.subject), run.requirement(), from->runs, std::move(variant.shapes),
                 std::move(variant.plan), variant.candidates),
      evidence(std::move(variant.evidence)),
      measured(experiment, run.store, run.records),
      sensitivities(experiment, evidence, measured, run.sensitivity_inferences),
      typed(run.options, run.sources, loaded(), experiment) {
  if (halves) experiment.judge_on_unseen(halves->networks(subject(), all_low_plan()));
  measured.begin();
}

std::unique_ptr<MeasuredNetwork> network_of(DiagnosisRun& run, std::shared_ptr<const CalibratedModel> calibrated) {
  NetworkVariant plain{subject_of(calibrated->model),
                       calibrated->plan,
                       calibrated->model->candidates,
                       calibrated->runs.reference->shapes,
                       {},
                       calibrated->halves};
  return std::make_unique<MeasuredNetwork>(run, std::move(calibrated), std::move(plain));
}

NetworkVariant variant_of(MeasuredNetwork&& network) {
  const Experiment& experiment = network.experiment;
  return {experiment.shared_subject(), experiment.all_low_plan(),   experiment.candidate_names(),
          experiment.shapes(),         std::move(network.evidence), network.halves};
}

bool nothing_needed(const DiagnosisRun& run, const AllLow& low, double most_damage) {
  const auto meets = [&](const RunFigures& figures) {
    return figures.passed == true && figures.damage.value_or(1) <= most_damage;
  };
  return run.requirement() != nullptr && !run.options.search.check && !run.options.confirm_on && meets(low.figures) &&
         (!low.unseen || meets(*low.unseen));
}

void measure_own_errors(MeasuredNetwork& network) {
  network.measured.build_ahead(match_layer_outputs(network.subject()));
  for (LayerError& error : network.measured.own_errors()) {
    network.evidence.own[error.layer] = std::move(error);
  }
  network.measured.keep();
}

void measure_sensitivities(DiagnosisRun& run, MeasuredNetwork& network) {
  Evidence& evidence = network.evidence;
  // A search ranks by them, and measures them after all where they lead it astray. What becomes the answer gets its
  // own.
  if (run.option && evidence.presumed.empty() &&
      presume(run.option->found_first, measurable_layers(network.experiment), run.requirement(), evidence))
    return;
  // Without a search the ranking is the answer. Of a repaired network little is left to keep, by layers that are alike.
  const bool all = !run.searches() || run.options.rank || run.repairs != nullptr;
  if (run.option) evidence.presumed.clear();  // it led astray
  all ? network.sensitivities.measure() : network.sensitivities.measure_worst();
  note_left_out(run, network);
}

void note_left_out(DiagnosisRun& run, const MeasuredNetwork& network) {
  std::erase_if(run.report.notes, [](const Note& note) {
    return note.code == "sensitivities-of-the-worst" || note.code == "sensitivities-of-the-kept" ||
           note.code == "sensitivities-left-out";
  });
  if (const auto left_out = network.sensitivities.left_out()) run.note_once(*left_out);
}

void run_all_low(MeasuredNetwork& network, bool of_layers) {
  const std::vector<Match> matches = of_layers ? match_layer_outputs(network.subject()) : std::vector<Match>();
  network.measured.run_all_low(matches);
  for (std::size_t i = 0; i < matches.size(); ++i) {
    network.evidence.propagated[matches[i].ref] = network.experiment.all_low().errors[i];
  }
}

RunFigures measure_all_low(DiagnosisRun& run, MeasuredNetwork& network, bool of_layers) {
  Experiment& experiment = network.experiment;
  run_all_low(network, of_layers);
  if (!experiment.all_high_is_reference()) {
    const TrialResult high = experiment.run_keeping(experiment.candidate_names(), run.requirement(),
                                                    all_samples(network.subject()), /*early_stop=*/false);
    run.report.all_high = figures_of(network.subject(), high.outputs, run.requirement());
  }
  network.measured.keep();
  return figures_of(network.subject(), experiment.all_low().outputs, run.requirement());
}

void rank(DiagnosisRun& run, const Experiment& experiment, const Evidence& evidence) {
  const Subject& subject = experiment.subject();
  DiagnoseReport& report = run.report;
  if (report.network.empty()) {
    report.network = network_nodes(subject.model, subject.layers, experiment.shapes());
  }
  report.layers = ranked_rows(experiment, evidence);
  report.work = lowered_work(experiment);
}

void mark_kept(DiagnoseReport& report) {
  const std::set<std::string> kept(report.kept->layers.begin(), report.kept->layers.end());
  for (LayerRow& row : report.layers) row.kept = kept.contains(row.name);
}

}  // namespace vernier
