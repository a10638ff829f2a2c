// A diagnosis with its float model run, and its plan calibrated.
#pragma once

#include <memory>

#include "analysis/reference.h"
#include "jobs/common/calibrated_plan.h"
#include "jobs/diagnose/cross_fit.h"
#include "jobs/diagnose/diagnosis_run.h"
#include "jobs/diagnose/loaded_model.h"
#include "jobs/search/experiment.h"
#include "plan/plan.h"

namespace vernier {

struct CalibratedModel {
  std::shared_ptr<const LoadedModel> model;
  std::shared_ptr<const CachedCalibration> cached;  // null: no ranges came from a file
  FloatRuns runs;
  Plan plan;  // everything low
  Teacher teacher;
  std::shared_ptr<CrossFit> halves;  // null: all samples taught and judge
};

/// Runs the float model over all samples; where ranges are learned on these, the run looks at them as well. Fills the
/// scales, and writes the cache of ranges where one is to be written. Where samples teach the network, and halves of
/// them can judge it, teaches these halves. Two steps.
/// Errors: Input, as read_calibration_cache(); Usage, where no cache fits and the method cannot be taken.
/// Cost: a run over the samples, over those of calibration, where there are some, and over both halves.
std::shared_ptr<const CalibratedModel> calibrate(DiagnosisRun& run, const std::shared_ptr<const LoadedModel>& model);

/// AsOption::calibrated_first, which must be there, with what the first report has on it. Teaches the halves
/// where only repairs learn from them.
/// Errors: as refuse_wrong_journal().
std::shared_ptr<const CalibratedModel> calibrated_first(DiagnosisRun& run);

}  // namespace vernier
