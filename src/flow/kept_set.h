// From single effects to sets: the search for the fewest layers to keep, and, without a requirement, the curve of
// quality against kept layers.
#pragma once

#include <functional>
#include <vector>

#include "flow/evidence.h"
#include "flow/experiment.h"
#include "vernier/jobs.h"
#include "vernier/report.h"

namespace vernier {

/// Damage of what was found once it is a written file; NaN when there is nothing to confirm. May be called repeatedly.
using ConfirmKept = std::function<double(const KeptSetReport&)>;

/// The `minimal` search (search/minimal.h) on the experiment's requirement, until the file of its answer passes too
/// (search/confirmed.h). `max_evaluations` 0: no limit.
KeptSetReport find_kept_set(Experiment& experiment, const Evidence& evidence, std::size_t max_evaluations,
                            const ConfirmKept& confirm, const JobSinks& sinks);

/// Quality with the 0, 1, 2, ... most damaging of `ranked` kept: predicted from single effects, measured at a few
/// points.
std::vector<CurvePoint> quality_curve(Experiment& experiment, const Evidence& evidence,
                                      const std::vector<LayerRow>& ranked);

}  // namespace vernier
