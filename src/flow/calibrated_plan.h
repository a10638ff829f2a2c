// From precision options to a plan that is ready to be lowered, for jobs that keep nothing of the calibration run.
#pragma once

#include <string>
#include <vector>

#include "flow/setup.h"
#include "plan/plan.h"

namespace vernier {

/// Fills the scales of `plan`, whose layers are those of `model`, from the samples of `loaded`: its calibration samples
/// where there are any. Does nothing when no layer has a scaled format. Returns warnings.
std::vector<std::string> calibrate_on_samples(Plan& plan, const Model& model, const std::vector<Layer>& layers,
                                              const Loaded& loaded);

}  // namespace vernier
