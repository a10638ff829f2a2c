// Which of the repairs that answer a cause can be tried at its layer: causes know what helps against a fault, repairs
// know what they can change.
#pragma once

#include <span>
#include <vector>

#include "jobs/diagnose/layer_facts.h"
#include "jobs/search/evidence.h"
#include "jobs/search/experiment.h"
#include "vernier/experiments.h"
#include "vernier/report/causes.h"

namespace vernier {

/// Takes repairs out of `causes` that have nothing to change at the layer, or say why they cannot. Of the repairs for
/// float16 and bfloat16 only those go that nothing in the network asks for. Causes of the caller's, `own`, keep what
/// they offer. Runs nothing.
/// Cost: what the repairs take to look at the layers of `found`.
void leave_out_idle_repairs(std::vector<Cause>& causes, const Experiment& experiment, const Evidence& evidence,
                            const MeasuredFacts& found, std::span<const CauseFinder> own);

}  // namespace vernier
