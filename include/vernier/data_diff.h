// The job behind `vernier data diff`: two runs, output by output (layer by layer where there are all tensors), ranked
// by error.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "vernier/export.h"
#include "vernier/report/data_diff.h"
#include "vernier/runs.h"
#include "vernier/sinks.h"

namespace vernier {

struct DiffOptions {
  std::filesystem::path reference, tested;  // files of saved runs
  /// Which run of a file that holds several: its name, a part that only one has, or its number from 0. Empty: the last.
  std::string reference_run, tested_run;
  DiffMetric metric = DiffMetric::Sqnr;
  bool metric_chosen = true;  // else a threshold's meaning is said in the answer
  std::optional<double> threshold;
  std::string command;
  /// In the place of the files: runs of the caller's.
  std::shared_ptr<const Run> reference_values{}, tested_values{};
};

/// Compares the last run of each file, or the runs given. Memory: one iteration of both.
/// Errors: Input when a file cannot be read, the numbers of iterations differ, or no output has the same name in both.
VERNIER_API DiffReport compare(const DiffOptions& options, const JobSinks& sinks = {});

}  // namespace vernier
