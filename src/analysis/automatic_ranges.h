// For each tensor the range, of those that several methods choose, with the smallest error of the layers that read it.
//
// Each method's ranges are tried on all tensors at once: beside every layer its shadow in low precision, reading exact
// inputs (own_error.h), so that one pass over the samples measures what one method does to every layer. A tensor takes
// the method whose error, summed over the layers that read it (through those that only move values), is the smallest.
// Errors of single layers do not know how they add up behind each other, so each method alone and mixtures, bolder and
// milder, are run as whole networks, and the outputs decide.
//
// Ranges are judged on samples that they were not learned from: those of one half of the samples on the other half, and
// the other way round (of a sequence, whose state must be carried from its start: those of its second half on its
// first). The candidate wins whose gain over minmax,
//   log(sum of its squared errors under minmax / under the candidate), summed over judged outputs,
// less two standard errors, is the largest; minmax itself has gain 0 (paired_gain.h). An output that a Softmax makes is
// judged in front of it: behind it a few undecided samples hold all the noise, and a gain on them is chance.
// Its ranges are then learned from all samples.
#pragma once

#include <map>
#include <string>

#include "analysis/chosen_ranges.h"
#include "analysis/reference.h"
#include "analysis/subject.h"
#include "base/partial_runs.h"
#include "plan/plan.h"
#include "vernier/format.h"

namespace vernier {

struct AutomaticRanges {
  ChosenRanges chosen;
  std::map<std::string, std::string> methods;  // of each tensor: "percentile:99.99"
  std::string answer;                          // in words: what won, over how many samples, against what
};

/// `plan`: formats of the layers of `subject`, without grids. `reference` was run over the subject's samples and
/// counted all of `tensors`. Layers are measured on 16 samples at most, whole networks on 64, spread evenly (of a
/// sequence: its beginning). One sample: minmax. Cost: seven methods, each 3.5 plain inferences for every one of the
/// 16, and ten to thirteen whole networks and a float one over the
/// 64; two sessions for each of these. Tries are kept in `partial`.
AutomaticRanges choose_automatically(const Subject& subject, const Plan& plan,
                                     const std::map<std::string, Format>& tensors, const Reference& reference,
                                     PartialRuns* partial = nullptr);

}  // namespace vernier
