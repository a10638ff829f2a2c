// The step of `vernier fix` between measuring the network as it is and searching what must be kept: tries the repairs,
// and hands back the network and the plan with those that help.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "jobs/common/load.h"
#include "jobs/diagnose/repair_ladder.h"
#include "jobs/search/experiment.h"
#include "jobs/search/objective.h"
#include "vernier/fix.h"
#include "vernier/precision.h"
#include "vernier/report/causes.h"

namespace vernier {

struct RepairedNetwork {
  RepairState state;  // to go on with; as it was when nothing was accepted
  std::vector<RepairTried> tried;
  bool changed = false;
  bool rewritten = false;          // the float model is another, equal one
  std::vector<std::string> notes;  // of the evaluation of all together
};

/// `precision`: what the plan of `experiment` was made from. `ranges_cached`: they came from a file, so that a model
/// with other ranges cannot be calibrated. `labels`: of the samples that are measured, for repairs that cost the task;
/// empty: there are none, and the float model's classes count.
/// Cost: a reference run, four plain inferences on eight samples for each repair, an evaluation for each
/// kind of repair of which something was accepted, and with calibration samples apart two more; all that once more
/// where kinds that were kept in doubt left the network no better.
RepairedNetwork repair_network(const Loaded& loaded, const Experiment& experiment, const PrecisionOptions& precision,
                               const RepairOptions& options, bool ranges_cached, const LabelCheck& labels);

/// Shapes of the repaired network's tensors, which `loaded` holds by then, with the first sample that is measured: what
/// `learned`, a run over the calibration samples, saw may be other ones.
std::map<std::string, Shape> first_shapes(const Loaded& loaded, const Reference& learned);

/// Those that were accepted are so no more, and `why` is added to what is said of them.
void take_back(std::vector<RepairTried>& tried, const std::string& why);

}  // namespace vernier
