// The job behind `vernier check lint`: everything that is wrong with a model file, in one run.
#pragma once

#include "vernier/export.h"
#include "vernier/measure.h"
#include "vernier/onnx_model.h"
#include "vernier/report/lint.h"
#include "vernier/sinks.h"

namespace vernier {

struct LintOptions {
  OnnxModel model;
  /// Samples, custom operators, and where weights outside the file lie. Samples that are given must run; random ones
  /// only say what the nodes of a model that does not load are like.
  MeasureOptions measure;
  bool run = true;  // also once in ONNX Runtime as it comes, with its optimizations
};

/// Checks the file, its graph, every node alone (its operator, attributes and types), and loads it into ONNX Runtime;
/// where that refuses it, each node alone, on what the nodes before it gave. A node behind one that fails is neither
/// passing nor failing. A file that is not a model is an entry, too. Errors: Input when the file is missing; those of
/// samples that are given.
VERNIER_API LintReport lint(const LintOptions& options, const JobSinks& sinks = {});

}  // namespace vernier
