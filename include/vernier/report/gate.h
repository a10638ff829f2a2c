// What continuous integration is told of a report.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "vernier/check_accuracy.h"
#include "vernier/export.h"
#include "vernier/report/data_diff.h"
#include "vernier/report/debug_accuracy.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/diff.h"
#include "vernier/report/lint.h"
#include "vernier/report/pipeline.h"
#include "vernier/report/run.h"
#include "vernier/report/verify.h"

namespace vernier {

/// One check of a gate.
struct GateCase {
  std::string name;
  enum class State { Passed, Failed, Skipped, Broken } state = State::Passed;  // Broken: there is no verdict
  std::string message;
  std::string pair{};  // the runs that were compared; empty: the case is of one run, or of a report
};

/// What continuous integration is told: whether the requirement holds, for each judged output of the claim (the final
/// figures, else everything low); skipped without a requirement.
struct Gate {
  std::string suite;  // "vernier diagnose", "vernier fix"
  std::string answer;
  double seconds = 0;
  std::vector<GateCase> cases;
  std::vector<std::string> warnings;

  bool passed() const;
};
VERNIER_API Gate gate_of(const DiagnoseReport& report);
VERNIER_API Gate gate_of(const VerifyReport& report);
VERNIER_API Gate gate_of(const ReportDiff& diff);
VERNIER_API Gate gate_of(const PipelineReport& report);       // a case for each stage but the first
VERNIER_API Gate gate_of(const DiffReport& report);           // for each output
VERNIER_API Gate gate_of(const DebugAccuracyReport& report);  // for each layer where error starts or is added
VERNIER_API Gate gate_of(const LintReport& report, const std::string& model_file);  // for each entry
VERNIER_API Gate gate_of(const CheckAccuracyResult& result);                        // for each output of each pair
/// Of a job that failed: one case, without a verdict.
VERNIER_API Gate gate_of_failure(const std::string& suite, const std::string& error);

/// Makes a gate of what a run tells: a case for each output of each pair. Names of runners are without their time, so
/// that cases keep their names from one build to the next. A sink of events, of one run.
class VERNIER_API RunGate {
 public:
  void operator()(const RunEvent& event);
  Gate gate() const;

 private:
  Gate gate_;
  std::map<std::string, std::size_t> cases_;  // by name
  std::size_t iterations_ = 0;
};

/// JUnit's XML, as Jenkins, GitLab and others read it; control characters that XML cannot hold are left out.
VERNIER_API std::string gate_to_junit(const Gate& gate);
/// GitHub's workflow commands, one a line: ::error, ::warning and ::notice.
VERNIER_API std::string gate_to_github(const Gate& gate);
/// A summary in Markdown for GITHUB_STEP_SUMMARY.
VERNIER_API std::string gate_to_markdown(const Gate& gate);

}  // namespace vernier
