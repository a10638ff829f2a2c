// What the precision options of a runner make of its network.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "jobs/common/load.h"
#include "jobs/common/sources.h"
#include "plan/plan.h"
#include "vernier/measure.h"
#include "vernier/precision.h"
#include "vernier/run.h"
#include "vernier/sinks.h"

namespace vernier {

/// Whether they ask for anything but float32.
bool says_formats(const PrecisionOptions& precision);

/// "3 layers in float32, 20 layers in int8".
std::string formats_of(const std::vector<PlannedLayer>& layers);

struct PlannedNetwork {
  Loaded loaded;
  Plan plan;
  bool calibrated_here = false;  // it has scales, and they are of samples, not of a cache
};

/// Assigns the formats and calibrates what has a scale. `say` gets what was done, line by line. Errors: whatever
/// reading, scripts, formats and calibration refuse.
PlannedNetwork plan_network(const RunnerOptions& runner, const MeasureOptions& measure, Sources& sources,
                            const Warn& warn, const std::function<void(const std::string&)>& say);

}  // namespace vernier
