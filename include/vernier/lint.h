// The job behind `vernier check lint`: everything that is wrong with a model file, in one run.
#pragma once

#include <filesystem>
#include <vector>

#include "vernier/export.h"
#include "vernier/onnx_model.h"
#include "vernier/report/lint.h"
#include "vernier/sinks.h"

namespace vernier {

struct LintOptions {
  OnnxModel model;
  std::vector<std::filesystem::path> custom_operators;  // as in MeasureOptions
  bool run = true;                                      // also once in ONNX Runtime as it comes, on random inputs
};

/// Checks the file, its graph, every node alone (its operator, attributes and types), and loads it into ONNX Runtime.
/// A file that is none of a model is an entry, too. Errors: Input when the file is missing.
VERNIER_API LintReport lint(const LintOptions& options, const JobSinks& sinks = {});

}  // namespace vernier
