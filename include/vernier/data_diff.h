// The job behind `vernier data diff`: two saved runs, output by output (layer by layer where all tensors were saved),
// ranked by error.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "vernier/export.h"
#include "vernier/report/data_diff.h"
#include "vernier/sinks.h"

namespace vernier {

struct DiffOptions {
  std::filesystem::path reference, tested;
  /// Which run of a file that holds several: its name, a part that only one has, or its number from 0. Empty: the last.
  std::string reference_run, tested_run;
  DiffMetric metric = DiffMetric::Sqnr;
  bool metric_chosen = true;  // else a threshold's meaning is said in the answer
  std::optional<double> threshold;
  std::string command;
};

/// Compares the last run of each file. Memory: one iteration of both.
/// Errors: Input when a file cannot be read, the numbers of iterations differ, or no output has the same name in both.
VERNIER_API DiffReport compare(const DiffOptions& options, const JobSinks& sinks = {});

}  // namespace vernier
