// Doubles of the page, the gate, the bundle and what else the newer commands print.
#include <filesystem>
#include <string>
#include <vector>

#include "vernier/bundle.h"
#include "vernier/check_data.h"
#include "vernier/eval.h"
#include "vernier/pipeline.h"
#include "vernier/report/check_data.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/diff.h"
#include "vernier/report/eval.h"
#include "vernier/report/failure.h"
#include "vernier/report/gate.h"
#include "vernier/report/kind.h"
#include "vernier/report/pipeline.h"
#include "vernier/report/schema.h"
#include "vernier/report/text.h"
#include "vernier/report/verify.h"
#include "vernier/sinks.h"

namespace vernier {

ReportKind report_kind(const std::string&, const std::string&) { return ReportKind::Diagnose; }
DiagnoseReport diagnose_report_from_json(const std::string& text, const std::string&) {
  DiagnoseReport report;
  report.model_file = text;
  return report;
}
std::string report_schema() { return "{}\n"; }
std::string verify_schema() { return "{}\n"; }
std::string pipeline_schema() { return "{}\n"; }
std::string error_schema() { return "{}\n"; }
std::string report_to_json(const FailureReport& report) { return "{\"code\": \"" + report.code + "\"}\n"; }
std::string report_to_html(const DiagnoseReport& report) { return "page of " + report.model_file; }
std::string report_to_html(const VerifyReport&) { return "verdict"; }
VerifyReport verify_report_from_json(const std::string&, const std::string&) { return {}; }
ReportDiff diff_reports(const DiagnoseReport& before, const DiagnoseReport& after, double tolerance_db) {
  ReportDiff diff;
  diff.tolerance_db = tolerance_db;
  if (before.model_file != after.model_file) diff.worse.emplace_back("another model");
  return diff;
}
std::string diff_to_text(const ReportDiff& diff, const TextOptions&) {
  return "worse: " + std::to_string(diff.worse.size());
}
std::string report_to_json(const ReportDiff&) { return "{}"; }

bool Gate::passed() const { return true; }
Gate gate_of(const DiagnoseReport&) { return {}; }
Gate gate_of(const VerifyReport&) { return {}; }
Gate gate_of(const ReportDiff&) { return {}; }
std::string gate_to_junit(const Gate&) { return "<testsuites/>\n"; }
std::string gate_to_github(const Gate&) { return "::notice::done\n"; }
std::string gate_to_markdown(const Gate&) { return "done\n"; }

std::string result_to_json(const BundleResult&) { return "{}"; }
BundleResult bundle_layer(const BundleOptions& options, const JobSinks&) {
  return {options.output, options.layer, {}, "vernier diagnose", {}};
}

EvalReport evaluate(const EvalOptions& options, const JobSinks&) {
  EvalReport report;
  report.labels = options.labels.name();
  return report;
}
std::string report_to_text(const EvalReport& report, const TextOptions&) { return "labels " + report.labels; }
std::string report_to_json(const EvalReport&) { return "{}"; }

CheckDataReport check_data(const CheckDataOptions& options, const JobSinks&) {
  CheckDataReport report;
  report.file = options.model.name();
  return report;
}
std::string report_to_text(const CheckDataReport& report, const TextOptions&) { return "data for " + report.file; }
std::string report_to_json(const CheckDataReport&) { return "{}"; }

PipelineReport pipeline(const PipelineOptions& options, const JobSinks&) {
  PipelineReport report;
  report.samples = options.stages.size();
  return report;
}
std::vector<Stage> read_stages(const std::filesystem::path& file) { return {{"only", file}}; }
std::string report_to_text(const PipelineReport& report, const TextOptions&) {
  return "stages " + std::to_string(report.samples);
}
std::string report_to_json(const PipelineReport&) { return "{}"; }
std::string report_to_html(const PipelineReport&) { return "stages"; }
PipelineReport pipeline_report_from_json(const std::string&, const std::string&) { return {}; }
Gate gate_of(const PipelineReport&) { return {}; }
Gate gate_of(const DiffReport&) { return {}; }
Gate gate_of(const DebugAccuracyReport&) { return {}; }
Gate gate_of(const LintReport&, const std::string&) { return {}; }
Gate gate_of(const CheckAccuracyResult&) { return {}; }
Gate gate_of_failure(const std::string&, const std::string&) { return {}; }
void RunGate::operator()(const RunEvent&) {}
Gate RunGate::gate() const { return {}; }

}  // namespace vernier
