// Two runs of the same samples, output by output: every iteration is read once from both, folded into sums, forgotten.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "vernier/report/data_diff.h"
#include "vernier/runs.h"
#include "vernier/sinks.h"

namespace vernier {

struct OutputDiffs {
  std::vector<DiffRow> rows;              // in the order of the reference; `beyond` is not set
  std::vector<std::string> not_compared;  // with the reason
  bool other_shapes = false;              // of an output that both have
};

/// Errors of every output that has the same name and shape in both runs. The names of the sides are for messages.
/// Errors: Input when the numbers of iterations differ, or nothing can be compared.
OutputDiffs diff_runs(const Run& reference, const Run& tested, const std::string& reference_name,
                      const std::string& tested_name, std::size_t threads, const JobSinks& sinks);

}  // namespace vernier
