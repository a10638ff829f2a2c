// What continuous integration is told of a report.
#pragma once

#include <string>
#include <vector>

#include "vernier/export.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/diff.h"
#include "vernier/report/pipeline.h"
#include "vernier/report/verify.h"

namespace vernier {

/// One check of a gate.
struct GateCase {
  std::string name;
  enum class State { Passed, Failed, Skipped } state = State::Passed;
  std::string message;
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
VERNIER_API Gate gate_of(const PipelineReport& report);  // a case for each stage but the first

/// JUnit's XML, as Jenkins, GitLab and others read it; control characters that XML cannot hold are left out.
VERNIER_API std::string gate_to_junit(const Gate& gate);
/// GitHub's workflow commands, one a line: ::error, ::warning and ::notice.
VERNIER_API std::string gate_to_github(const Gate& gate);
/// A summary in Markdown for GITHUB_STEP_SUMMARY.
VERNIER_API std::string gate_to_markdown(const Gate& gate);

}  // namespace vernier
