// A network that layers are kept in, with what is measured of it: as it was loaded, or with repairs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/subject.h"
#include "jobs/diagnose/calibrated_model.h"
#include "jobs/diagnose/cross_fit.h"
#include "jobs/diagnose/diagnosis_run.h"
#include "jobs/diagnose/single_sensitivities.h"
#include "jobs/diagnose/typed_result.h"
#include "jobs/search/evidence.h"
#include "jobs/search/experiment.h"
#include "jobs/search/measured.h"
#include "plan/plan.h"
#include "vernier/report/figures.h"
#include "vernier/report/kept_set.h"
#include "vernier/tensor.h"

namespace vernier {

/// How a network is lowered, and what was measured of it, as a value.
struct NetworkVariant {
  std::shared_ptr<const Subject> subject;
  Plan plan;  // everything low
  std::vector<std::string> candidates;
  std::map<std::string, Shape> shapes;
  Evidence evidence;
  std::shared_ptr<CrossFit> halves;  // null: all samples taught and judge
};

struct MeasuredNetwork {
  MeasuredNetwork(DiagnosisRun& run, std::shared_ptr<const CalibratedModel> calibrated, NetworkVariant variant);

  const LoadedModel& model() const { return *from->model; }
  const Loaded& loaded() const { return from->model->loaded; }
  const Subject& subject() const { return experiment.subject(); }
  const Plan& all_low_plan() const { return experiment.all_low_plan(); }
  /// What `kept` says, or everything low.
  Plan plan_of(const std::optional<KeptSetReport>& kept) const {
    return kept ? experiment.plan_of(*kept) : all_low_plan();
  }

  const std::shared_ptr<const CalibratedModel> from;
  const std::shared_ptr<CrossFit> halves;
  Experiment experiment;
  Evidence evidence;
  Measured measured;
  SingleSensitivities sensitivities;
  TypedResult typed;
};

/// The network as it was loaded.
std::unique_ptr<MeasuredNetwork> network_of(DiagnosisRun& run, std::shared_ptr<const CalibratedModel> calibrated);

/// What there is of `network`, whose evidence it takes.
NetworkVariant variant_of(MeasuredNetwork&& network);

/// How a network does with everything low.
struct AllLow {
  RunFigures figures;
  std::optional<RunFigures> unseen{};    // judged by the halves, where there are some
  std::vector<std::int64_t> moved = {};  // rows_moved(), of these where they are there
};

/// Everything low meets the requirement, by default not by a hair, which the written file may miss: nothing has to be
/// repaired, kept or ranked.
bool nothing_needed(const DiagnosisRun& run, const AllLow& low, double most_damage = 0.9);

void measure_own_errors(MeasuredNetwork& network);
/// Of single layers.
void measure_sensitivities(DiagnosisRun& run, MeasuredNetwork& network);
/// What is not measured of them, to the notes.
void note_left_out(DiagnosisRun& run, const MeasuredNetwork& network);

/// Runs everything low. `of_layers`: with the errors of all layers, not of the outputs alone.
void run_all_low(MeasuredNetwork& network, bool of_layers = true);
/// The same with its figures; those of everything high go to the report.
RunFigures measure_all_low(DiagnosisRun& run, MeasuredNetwork& network, bool of_layers = true);

/// The layers by the damage that they do, and the work that is low, to the report.
void rank(DiagnosisRun& run, const Experiment& experiment, const Evidence& evidence);
inline void rank(DiagnosisRun& run, const MeasuredNetwork& network) { rank(run, network.experiment, network.evidence); }
void mark_kept(DiagnoseReport& report);

}  // namespace vernier
