// Which outputs hold class scores, so that "the same largest element" (top-1) means something: decided here alone.
//
// A file does not say what its outputs are, and a wrong guess is a false figure: a Gemm makes logits, landmarks and
// opinion scores alike. So there has to be evidence:
//   - an ArgMax of the network picks the largest of it (class_axis.h); or
//   - it has one row a sample, which a Softmax or LogSoftmax made or reads; or
//   - the exporter called it "logits", and the graph says the axis of classes, or there are at most two behind the
//     batch (logits of masks are pictures); or
//   - the user says so: an axis of classes, labels, or a required top-1 agreement.
// Operators that only move values, and constants added or multiplied, may follow. A bare Gemm, MatMul or Conv is no
// evidence, whatever its form.
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

/// Those of the outputs of `model` that the graph alone shows to be class scores of one row a sample, as far as that
/// can be said without running it: an ArgMax or Softmax reads them, or a Softmax made them.
std::set<std::string> class_scores_by_graph(const Model& model);

}  // namespace vernier
