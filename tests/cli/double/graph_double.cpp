// Doubles of the jobs that cut, edit and look at graphs: each says what arrived.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "vernier/capability.h"
#include "vernier/check.h"
#include "vernier/inspect.h"
#include "vernier/inspect_engine.h"
#include "vernier/lint.h"
#include "vernier/plugins.h"
#include "vernier/quantize.h"
#include "vernier/reduce.h"
#include "vernier/repeat.h"
#include "vernier/report/capability.h"
#include "vernier/report/lint.h"
#include "vernier/report/reduce.h"
#include "vernier/report/text.h"
#include "vernier/sinks.h"
#include "vernier/surgeon.h"
#include "vernier/templates.h"

namespace vernier {

ReduceReport debug_reduce(const ReduceOptions& options, const JobSinks&, const CheckSinks&) {
  ReduceReport report;
  report.model_file = options.model.name();
  report.reproduced = options.model.file().stem() != "good";
  report.check = fmt::format("{}", options.check.command);
  return report;
}
std::string report_to_text(const ReduceReport& report, const TextOptions&) { return "check " + report.check; }
std::string report_to_json(const ReduceReport&) { return "{}\n"; }

RepeatReport debug_repeat(const RepeatOptions& options, const JobSinks&, const CheckSinks&) {
  RepeatReport report;
  report.summary = fmt::format("check {} count {}", options.check.command, options.until.count);
  return report;
}

SurgeonResult written(const std::filesystem::path& output) {
  SurgeonResult result;
  result.output = output;
  return result;
}
SurgeonResult extract_model(const ExtractOptions& options, const JobSinks&) { return written(options.output); }
SurgeonResult sanitize_model(const SanitizeOptions& options, const JobSinks&) { return written(options.output); }
SurgeonResult insert_node(const InsertOptions& options, const JobSinks&) { return written(options.output); }
SurgeonResult prune_weights(const WeightEditOptions& options) { return written(options.output); }
SurgeonResult strip_weights(const WeightEditOptions& options) { return written(options.output); }
SurgeonResult reconstruct_weights(const WeightEditOptions& options) { return written(options.output); }
std::string result_to_text(const SurgeonResult& result) { return result.output.string(); }

CapabilityReport inspect_capability(const CapabilityOptions& options, const JobSinks&) {
  CapabilityReport report;
  report.target = options.target;
  return report;
}
std::string report_to_json(const CapabilityReport&) { return "{}\n"; }
std::string report_to_text(const CapabilityReport& report, const TextOptions&) {
  return "target " + std::string(word_of(report.target));
}

EngineReport inspect_engine(const InspectEngineOptions& options, const JobSinks&) {
  EngineReport report;
  report.compiled_for = options.compile.compute_capability;
  return report;
}
std::string report_to_json(const EngineReport&) { return "{}\n"; }
std::string report_to_text(const EngineReport& report, const TextOptions&) { return "for " + report.compiled_for; }

std::vector<PluginMatches> match_plugins(const MatchPluginsOptions& options, const JobSinks&) {
  return {{options.model.stem().string(), "", "", {}}};
}
std::string plugin_config(const std::vector<PluginMatches>&) { return ""; }
PluginReplacements replace_by_plugins(const ReplaceByPluginsOptions&, const JobSinks&) { return {}; }
std::vector<TrtSetting> trt_network_settings() { return {}; }
std::vector<TrtSetting> trt_config_settings() { return {}; }
std::string trt_network_template(const std::string& model, const EngineSettings&) { return model; }
std::string trt_config_template(const std::set<Format>& formats, const EngineSettings&,
                                const std::map<std::string, ShapeRange>&) {
  return std::to_string(formats.size());
}
std::string plan_template(const QuantizeOptions& options, const JobSinks&) { return options.model.name(); }
std::string data_loader_template(const OnnxModel& model) { return model.name(); }
std::string metric_script_template() { return "metric"; }
std::string postprocess_script_template(const OnnxModel& model) { return model.name(); }
std::string onnx_gs_template(const OnnxModel& model) { return model.name(); }

LintReport lint(const LintOptions&, const JobSinks&) { return {}; }
std::string report_to_json(const LintReport&) { return "{}\n"; }
std::string report_to_text(const LintReport&, const TextOptions&) { return "lint\n"; }

TacticReplay inspect_tactics(const std::filesystem::path& replay) { return {replay.string(), {}}; }
std::string report_to_text(const TacticReplay& report) { return report.file; }
TacticsDiff diff_tactics(const DiffTacticsOptions& options) { return {0, 0, {{options.folder.string(), {}}}}; }
std::string report_to_text(const TacticsDiff& report) { return report.layers.front().first; }
UnboundedSizes list_unbounded_sizes(const OnnxModel& model, const std::filesystem::path&) { return {model.name(), {}}; }
std::string report_to_text(const UnboundedSizes& report) { return report.file; }
DrawnModel draw_model(const DrawOptions& options, const JobSinks&) { return {options.output, 0, false}; }
std::string result_to_text(const DrawnModel& result) { return result.file.string(); }
SparsityReport inspect_sparsity(const OnnxModel& model, const std::filesystem::path&) { return {model.name(), {}}; }
std::string report_to_text(const SparsityReport& report) { return report.file; }

}  // namespace vernier
