// What a diagnosis asks of ONNX Runtime's default optimizations: the file alone, and once.
#include "jobs/verify/default_optimizations.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "job_files.h"
#include "vernier/diagnose.h"
#include "vernier/format.h"
#include "vernier/report/diagnose.h"
#include "vernier/sinks.h"

namespace vernier::testing {
namespace {

/// Sample inferences of each run that a job tells of, in order.
std::vector<std::pair<std::string, std::size_t>> runs_of(const DiagnoseOptions& options) {
  std::vector<std::pair<std::string, std::size_t>> runs;
  JobSinks sinks;
  sinks.progress = [&](const std::string& phase, std::size_t done, std::size_t) {
    if (done == 1) runs.emplace_back(phase, 0);
    if (!runs.empty() && runs.back().first == phase) runs.back().second = done;
  };
  diagnose(options, sinks);
  return runs;
}

TEST(DefaultOptimizations, RunTheFileBesideOutputsThatAreKnown) {
  const NetFiles files;
  DiagnoseOptions options = files.diagnose_options({Format::Int8});
  options.cache_folder = files / "cache";
  options.latency = false;
  std::size_t of_file = 0;
  for (const auto& [phase, samples] : runs_of(options)) of_file += phase == "ONNX Runtime" ? samples : 0;
  EXPECT_EQ(of_file, diagnose_report_from_json(bytes_of(files / "out" / "report.json"), "report.json").samples);
  for (const auto& [phase, samples] : runs_of(options)) {
    EXPECT_NE(phase, "ONNX Runtime") << "it is on record from the first time";
  }
}

}  // namespace
}  // namespace vernier::testing
