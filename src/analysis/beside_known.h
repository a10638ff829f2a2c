// A network in low precision against outputs of the float one that are known: half the work of lock-step, for whoever
// asks about outputs alone.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "analysis/output_store.h"
#include "analysis/requirement.h"
#include "analysis/subject.h"
#include "model/model.h"
#include "numerics/round.h"

namespace vernier {

/// Judged outputs of the subject's own model over all samples. Cost: a plain run.
OutputStore outputs_of_float(const Subject& subject);

struct BesideKnown {
  std::map<std::string, OutputStats> outputs;  // judged ones
  std::vector<double> sample_noise;            // as Lockstep has it
  bool finite = true;                          // so was every value of the tensors looked at
  std::vector<RoundEvents> events;             // by slot of the nodes that count into one
};

/// Runs `low`, which stands beside the subject's model, over all samples. `known`: judged outputs of the float model on
/// them, in the order of Subject::judged. `looked_at`: float32 tensors of the main graph of `low`. `given`, unless it
/// is null, gets the judged outputs of `low`; samples that another rank runs are not among them. Cost: a plain run, and
/// a look at these tensors.
BesideKnown run_beside_known(const Subject& subject, Model low, const OutputStore& known,
                             const std::set<std::string>& looked_at = {}, std::size_t event_slots = 0,
                             OutputStore* given = nullptr);

}  // namespace vernier
