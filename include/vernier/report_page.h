// Other forms of the report of `vernier diagnose`: a page for browsers, the difference of two builds, and what
// continuous integration reads. All are functions of the report alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vernier/export.h"
#include "vernier/report.h"

namespace vernier {

/// "vernier diagnose", "vernier pipeline": what wrote a report. Errors: Input, when the text is no report.
VERNIER_API std::string report_kind(const std::string& text, const std::string& where);

/// One HTML file that needs nothing else: no network, no fonts, no other file; light and dark. Names from models are
/// data in it, never markup. Size: about 40 kB, 0.5 kB a layer, and 4 kB for each picture.
/// Cost: linear in the report.
VERNIER_API std::string report_to_html(const DiagnoseReport& report);

struct PipelineReport;  // pipeline.h

/// One number that both reports have.
struct ChangedFigure {
  std::string name;  // "all low, SQNR of 'scores'"
  double before = 0, after = 0;
  bool higher_is_better = true;
};

struct ChangedLayer {
  std::string name;
  std::string op_type;
  std::optional<double> own_before_db, own_after_db;
  std::optional<double> share_before, share_after;
};

/// What changed from one build to the next.
struct ReportDiff {
  int version = 1;
  std::string before_answer, after_answer;
  std::vector<std::string> settings;  // what makes the two differ beside the network: data, scheme, versions
  std::vector<ChangedFigure> figures;
  std::vector<std::string> newly_kept, no_longer_kept;
  std::vector<std::string> new_layers, gone_layers;
  std::vector<ChangedLayer> layers;  // own error moved by 1 dB or more: most first
  double tolerance_db = 0.5;
  std::vector<std::string> worse;  // why the later build is worse; empty: it is not
};

/// Worse is: the requirement was met and is missed; more layers are kept; the SQNR of an output, everything low or as
/// finally measured, fell by more than `tolerance_db`; or an output is gone. Layers are matched by name.
/// Cost: linear, and one sort. Errors: Input where the models differ and no output has the same name.
VERNIER_API ReportDiff diff_reports(const DiagnoseReport& before, const DiagnoseReport& after,
                                    double tolerance_db = 0.5);
VERNIER_API std::string diff_to_text(const ReportDiff& diff, const TextOptions& options);
VERNIER_API std::string report_to_json(const ReportDiff& diff);

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
