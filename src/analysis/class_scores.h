// Which outputs hold class scores, so that "the same largest element" (top-1) means something: decided here alone.
//
// A file does not say what its outputs are. One looks like class scores when
//   - an ArgMax of the network picks the largest of it (class_axis.h); or
//   - its name holds "logits": one row for each position or sample; or
//   - it has one row a sample, made by a Softmax or LogSoftmax; or
//   - it has one row a sample of the form [N, C] or [N, C, 1, ..], made by a Gemm, MatMul or Conv.
// Operators that only move values, and constants added or multiplied, may follow. Boxes, pixels, signals, masks
// (Sigmoid), and states have none. A regression of several numbers by a Gemm looks the same as logits.
#pragma once

#include <map>
#include <set>
#include <string>

#include "analysis/requirement.h"
#include "analysis/subject.h"
#include "vernier/requirement.h"

namespace vernier {

/// Those of the judged outputs, whose sums over samples are `stats`; and each output for which `requirement` wants
/// top-1 agreement. `requirement`: may be null.
std::set<std::string> class_scores(const Subject& subject, const std::map<std::string, OutputStats>& stats,
                                   const Requirement* requirement);

}  // namespace vernier
