// The step of `vernier fix` between measuring the network as it is and searching what must be kept: tries the repairs,
// and hands back the network and the plan with those that help.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "analysis/known_trials.h"
#include "jobs/common/load.h"
#include "jobs/diagnose/cross_fit.h"
#include "jobs/diagnose/repair_ladder.h"
#include "jobs/search/experiment.h"
#include "jobs/search/objective.h"
#include "vernier/fix.h"
#include "vernier/note.h"
#include "vernier/precision.h"
#include "vernier/report/causes.h"

namespace vernier {

struct TriedRepairs {
  RepairState state;                 // to go on with; as it was when nothing was accepted
  std::shared_ptr<CrossFit> halves;  // that each half of the samples taught; null: they are not halved
  KnownTrials::BySample unseen;      // what everything low does in these halves, as far as it was measured
  KnownTrials::BySample own;         // the same of `state`, which all samples taught
  std::vector<RepairTried> tried;
  bool changed = false;
  bool rewritten = false;   // the float model is another, equal one
  std::vector<Note> notes;  // of the evaluation of all together
};

/// Which repairs help is decided on one half of the samples that teach (those of calibration, where there are such), of
/// what the other half teaches; then all of them teach the network that is handed back. With `plain`, the network
/// without repairs as each half taught it, the repairs stay only where the repaired halves are better than it. Fewer
/// than ten samples, and sequences, teach and decide all together.
/// `precision`: what the plan of `experiment` was made from. `ranges_cached`: they came from a file, so that a model
/// with other ranges cannot be calibrated. `labels`: of the samples that are measured, for repairs that cost the task;
/// empty: there are none, and the float model's classes count.
/// `enough`: no more repairs are tried once it is met with a tenth to spare; null: all are.
/// Cost: two reference runs, four plain inferences on sixteen samples for each repair, half an evaluation for each kind
/// of repair of which something was accepted, two evaluations of the result, which few samples have from the ladder.
/// With halves, two more of the file that all samples taught. An evaluation that `experiment` knows costs nothing.
TriedRepairs try_repairs(const Loaded& loaded, Experiment& experiment, const PrecisionOptions& precision,
                         const RepairOptions& options, const Teacher& teacher, bool ranges_cached, CrossFit* plain,
                         const LabelCheck& labels, const Requirement* enough);

/// Shapes of the tensors of `repaired` with the first sample that is measured: what `learned`, a run over the
/// calibration samples of `loaded`, saw may be other ones.
std::map<std::string, Shape> first_shapes(const Subject& repaired, const Loaded& loaded, const Reference& learned);

/// Those that were accepted are so no more, and `why` is added to what is said of them.
void take_back(std::vector<RepairTried>& tried, const std::string& why);

}  // namespace vernier
