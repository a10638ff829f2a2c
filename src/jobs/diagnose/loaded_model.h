// A diagnosis with its model loaded: the float network, and the formats that its layers have with everything low.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "analysis/subject.h"
#include "jobs/common/load.h"
#include "jobs/diagnose/diagnosis_run.h"
#include "jobs/diagnose/typed_source.h"
#include "jobs/search/objective.h"
#include "plan/plan.h"
#include "vernier/precision.h"

namespace vernier {

struct LoadedModel {
  PrecisionOptions precision;  // with what network scripts set
  TypedSource typed_source;
  Loaded loaded;
  std::unique_ptr<const Objective> objective;  // null: the requirement decides, if there is one
  Plan plan;                                   // everything low, without scales
  std::vector<std::string> candidates;         // layers that may be kept
};

/// The network as it was loaded.
inline std::shared_ptr<const Subject> subject_of(const std::shared_ptr<const LoadedModel>& model) {
  return {model, &model->loaded.subject};
}

/// Reads and prepares the model, opens the samples, and says what there is to say of them before anything is measured.
std::shared_ptr<const LoadedModel> load_model(DiagnosisRun& run);

/// Errors: Usage, for a journal of another job, as far as `plan` and the report tell by now: rewriting gives the
/// network another hash.
void refuse_wrong_journal(const DiagnosisRun& run, const TypedSource& source, const Plan& plan);

}  // namespace vernier
