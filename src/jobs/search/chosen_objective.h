// What decides in a search, from the options: a requirement, an outside check, or one of the objectives.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "analysis/judged_views.h"
#include "jobs/common/sources.h"
#include "jobs/search/objective.h"
#include "vernier/diagnose.h"
#include "vernier/samples.h"
#include "vernier/search_options.h"
#include "vernier/sinks.h"

namespace vernier {

/// Null when a requirement or an outside check decides, or nothing does. Errors: as label_objective().
std::unique_ptr<Objective> chosen_objective(const DiagnoseOptions& options, Sources& sources, const Model& model,
                                            const std::vector<JudgedView>& views);

/// Labels or a script; null when neither is asked for. Labels are those of the samples that `sources` gives `model` by
/// now. A script gets outputs as the file gives them, those of `views` too.
/// Errors: as label_objective() and metric_objective().
std::unique_ptr<Objective> task_objective(const TaskRequirement& task, Sources& sources, const Model& model,
                                          const std::vector<JudgedView>& views);

/// The labels of those samples, for one network output after the other. Errors: as label_check().
LabelCheck label_check(const LabelRequirement& wanted, Sources& sources, const Model& model);

/// What decides. Something must.
Deciding deciding(const DiagnoseOptions& options, const Objective* objective, bool engine_in_trials);

}  // namespace vernier
