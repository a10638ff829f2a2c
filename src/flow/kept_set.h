// From single effects to sets: the search for the fewest layers to keep, and, without a requirement, the curve of
// quality against kept layers.
#pragma once

#include <vector>

#include "flow/evidence.h"
#include "flow/experiment.h"
#include "vernier/jobs.h"
#include "vernier/report.h"

namespace vernier {

/// The `minimal` search (search/minimal.h) on the experiment's requirement. `max_evaluations` 0: no limit.
KeptSetReport find_kept_set(Experiment& experiment, const Evidence& evidence, std::size_t max_evaluations,
                            const JobSinks& sinks);

/// Quality with the 0, 1, 2, ... most damaging of `ranked` kept: predicted from single effects, measured at a few
/// points.
std::vector<CurvePoint> quality_curve(Experiment& experiment, const Evidence& evidence,
                                      const std::vector<LayerRow>& ranked);

}  // namespace vernier
