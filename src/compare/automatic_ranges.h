// For each tensor the range, of those that several methods choose, with the smallest error of the layers that read it.
//
// Each method's ranges are tried on all tensors at once: beside every layer its shadow in low precision, reading exact
// inputs (own_error.h), so that one pass over the samples measures what one method does to every layer. A tensor takes
// the method whose error, summed over the layers that read it (through those that only move values), is the smallest.
// Errors of single layers do not know how they add up behind each other: each method alone and mixtures, bolder and
// milder, are run as whole networks. Minmax clips nothing of what is yet to come, and is left only for what is better
// on these samples by more than their scatter; likewise the best single method for a mixture. So the answer is not
// worse than minmax there, and not worse than another method by more than that scatter.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compare/chosen_ranges.h"
#include "compare/reference.h"
#include "compare/subject.h"
#include "plan/plan.h"

namespace vernier {

struct AutomaticRanges {
  ChosenRanges chosen;
  std::map<std::string, std::string> methods;  // of each tensor: "percentile:99.99"
  std::string answer;                          // in words: what won, over how many samples, against what
};

/// `plan`: formats of the layers of `subject`, without grids. `reference` was run over the subject's samples and
/// counted all of `tensors`. Layers are measured on 16 samples at most, whole networks on 64, spread evenly (of a
/// sequence: its beginning). Cost: seven methods, each 3.5 plain inferences for every one of the 16, and ten whole
/// networks over the 64.
AutomaticRanges choose_automatically(const Subject& subject, const Plan& plan,
                                     const std::map<std::string, Format>& tensors, const Reference& reference);

}  // namespace vernier
