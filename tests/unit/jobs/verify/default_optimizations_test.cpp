// What a diagnosis asks of ONNX Runtime's default optimizations: the file alone, and once.
#include "jobs/verify/default_optimizations.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "job_files.h"
#include "vernier/diagnose.h"
#include "vernier/format.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/figures.h"
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

RunFigures figures(double sqnr_db, bool passed) {
  RunFigures run;
  run.outputs.emplace_back().sqnr_db = sqnr_db;
  run.passed = passed;
  return run;
}

TEST(DefaultOptimizations, DecideWhereTheyLoseOrMissTheLimit) {
  const auto decide = [](const RunFigures& there, const RunFigures& simulated,
                         const std::optional<SaturatedPairs>& saturated = std::nullopt) {
    return deciding_by_default(there, simulated, saturated, "1.2.3");
  };
  const std::optional<EngineFigures> missed = decide(figures(29.99, false), figures(30.01, true));
  ASSERT_TRUE(missed.has_value());
  EXPECT_EQ(missed->engine, "ONNX Runtime 1.2.3");
  EXPECT_EQ(missed->figures.passed, false);
  EXPECT_TRUE(decide(figures(33, true), figures(34, true)).has_value());
  EXPECT_FALSE(decide(figures(33.6, true), figures(34, true)).has_value());
  EXPECT_FALSE(decide(figures(52, true), figures(60, true)).has_value());
  EXPECT_FALSE(decide(figures(20, false), figures(20.1, false)).has_value());
}

TEST(DefaultOptimizations, LeaveWhatSaturatesToItsOwnClause) {
  SaturatedPairs pairs;
  pairs.runtime = Target::OnnxRuntime;
  pairs.figures = figures(25, false);
  EXPECT_FALSE(deciding_by_default(figures(25.1, false), figures(35, true), pairs, "1").has_value());
  EXPECT_TRUE(deciding_by_default(figures(20, false), figures(35, true), pairs, "1").has_value());
}

}  // namespace
}  // namespace vernier::testing
