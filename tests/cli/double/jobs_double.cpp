// A double of the jobs and of the report, so that the command line is tested alone: each job says which options
// arrived, and the model's name chooses how it ends ("missed.onnx" misses its requirement). No file is read.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "describe.h"
#include "vernier/calibrate.h"
#include "vernier/calibration.h"
#include "vernier/check_accuracy.h"
#include "vernier/check_placement.h"
#include "vernier/comparison.h"
#include "vernier/data_files.h"
#include "vernier/debug_loss.h"
#include "vernier/diagnose.h"
#include "vernier/doctor.h"
#include "vernier/error.h"
#include "vernier/explain_file.h"
#include "vernier/fix.h"
#include "vernier/format.h"
#include "vernier/inspect.h"
#include "vernier/measure.h"
#include "vernier/precision.h"
#include "vernier/quantize.h"
#include "vernier/report/calibrate.h"
#include "vernier/report/check_placement.h"
#include "vernier/report/debug_loss.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/figures.h"
#include "vernier/report/kept_set.h"
#include "vernier/report/note_text.h"
#include "vernier/report/quantize.h"
#include "vernier/report/scheme.h"
#include "vernier/report/text.h"
#include "vernier/report/verify.h"
#include "vernier/requirement.h"
#include "vernier/samples.h"
#include "vernier/scheme.h"
#include "vernier/sinks.h"
#include "vernier/verify.h"

namespace vernier {

std::vector<std::string> describe(const SourceOptions& source) {
  std::vector<std::string> lines;
  lines.push_back(fmt::format("location={} limit={} random_samples={} seed={} split_batch={}", source.location,
                              source.limit, source.random_samples, source.seed, source.split_batch));
  if (!source.further.empty()) lines.push_back(fmt::format("further={}", source.further));
  if (source.python != "python3" || source.script_seconds != 0) {
    lines.push_back(fmt::format("python={} script_seconds={}", source.python, source.script_seconds));
  }
  for (const auto& [name, range] : source.value_ranges) {
    lines.push_back(fmt::format("range '{}' {} {}", name, range.first, range.second));
  }
  for (const auto& [name, shape] : source.shapes) lines.push_back(fmt::format("shape '{}' {}", name, shape));
  lines.push_back(fmt::format("image='{}' mean={} std={} color={} layout='{}'", source.image.geometry,
                              source.image.mean, source.image.scale, word_of(source.image.color),
                              source.image.layout ? word_of(*source.image.layout) : ""));
  lines.push_back(fmt::format("carried={}", source.carried));
  return lines;
}

std::vector<std::string> describe(const MeasureOptions& measure) {
  std::vector<std::string> lines = describe(measure.data);
  if (measure.calibration_data) lines.push_back("calibration location=" + measure.calibration_data->location);
  if (!measure.calibration_cache.empty()) lines.push_back("cache=" + measure.calibration_cache.string());
  lines.push_back(fmt::format("outputs={} threads={}", measure.outputs, measure.threads));
  for (const auto& [out, in] : measure.carries) lines.push_back(fmt::format("carry '{}' to '{}'", out, in));
  if (measure.requirement) {
    for (const Limit& limit : measure.requirement->limits) {
      lines.push_back(
          fmt::format("requirement --{} '{}' {}", word_of(measure.requirement->metric), limit.output, limit.value));
    }
  }
  return lines;
}

std::vector<std::string> describe(const PrecisionOptions& precision) {
  std::vector<std::string> lines;
  std::string low;
  for (const Format format : precision.low) low += fmt::format(" {}", format_name(format));
  lines.push_back(fmt::format("low={} high={} target={} constraints={}", low, format_name(precision.high),
                              word_of(precision.target), word_of(precision.constraints)));
  if (precision.calibration != CalibrationChoice{}) {
    lines.push_back(fmt::format("method={} percentile={}", method_name(precision.calibration.method),
                                precision.calibration.percentile));
  }
  for (const auto& [name, format] : precision.layer_precisions) {
    lines.push_back(fmt::format("layer '{}' {}", name, format_name(format)));
  }
  return lines;
}

void append(std::vector<std::string>& lines, const std::vector<std::string>& more) {
  lines.insert(lines.end(), more.begin(), more.end());
}

void append(std::vector<Note>& notes, const std::vector<std::string>& lines) {
  for (const std::string& line : lines) notes.emplace_back(line);
}

/// Ends as the model's name says, if it says so.
void act(const OnnxModel& model, const JobSinks& sinks) {
  const std::string name = model.file().stem().string();
  if (name == "usage") throw Error(ErrorKind::Usage, "a usage error", "another option");
  if (name == "input") throw Error(ErrorKind::Input, "an input error", "another file");
  if (name == "backend") throw Error(ErrorKind::Backend, "a backend error");
  if (name == "internal") throw Error(ErrorKind::Internal, "an impossible state");
  if (name == "no_memory") throw std::bad_alloc();
  if (name == "logic_error") throw std::logic_error("vector::at");
  if (name == "filesystem") {
    throw std::filesystem::filesystem_error("cannot copy", "a", std::make_error_code(std::errc::permission_denied));
  }
  if (name == "talkative") {
    sinks.info("a phase begins");
    sinks.warn(Note("something is odd"));
  }
  if (name == "slow") {
    // Half a minute at most, so that a test that fails to interrupt ends too.
    for (std::size_t i = 0; i < 3000 && !sinks.interrupted(); ++i) {
      sinks.progress("measuring", i, 3000);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
  if (name == "ignoring") std::raise(SIGINT);
  if (name == "late") {
    sinks.info("all but done");
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  if (name == "deaf") {
    sinks.info("listening to nobody");
    std::this_thread::sleep_for(std::chrono::seconds(30));
  }
}

std::vector<RepairName> repair_names() {
  return {{"weight-grid", "", ""}, {"range", "", ""}, {"bias-correction", "", ""}};
}

DiagnoseReport fix(const FixOptions& options, const JobSinks& sinks) { return diagnose(options, sinks); }
DiagnoseReport search_precision(const DiagnoseOptions& options, const JobSinks& sinks) {
  return diagnose(options, sinks);
}

DiagnoseReport diagnose(const DiagnoseOptions& options, const JobSinks& sinks) {
  act(options.model, sinks);
  DiagnoseReport report;
  report.requirement = options.measure.requirement;
  report.command = options.command;
  append(report.notes,
         std::vector{fmt::format("model={} output={} latency={} max_evaluations={}", options.model.name(),
                                 options.output.string(), options.latency ? fmt::to_string(*options.latency) : "unset",
                                 options.search.max_evaluations),
                     "command=" + options.command});
  append(report.notes, describe(options.precision));
  append(report.notes, describe(options.measure));
  const std::string name = options.model.file().stem().string();
  if (name == "met" || name == "missed") {
    report.final_figures = RunFigures{};
    report.final_figures->passed = name == "met";
  }
  if (const std::optional<SearchEnd> end = parse_word<SearchEnd>(name)) {
    report.kept = KeptSetReport{};
    report.kept->end = *end;
  }
  return report;
}

std::string debug_precision_to_text(const DiagnoseReport& report, const TextOptions&) {
  return report.notes.empty() ? "" : note_text(report.notes.front());
}
std::string pareto_to_csv(const KeptSetReport&) { return ""; }
std::string pareto_to_svg(const KeptSetReport&) { return ""; }

VerifyReport verify(const VerifyOptions& options, const JobSinks& sinks) {
  act(options.typed_model, sinks);
  VerifyReport report;
  append(report.notes,
         std::vector{fmt::format("float={} typed={}", options.float_model.name(), options.typed_model.name())});
  append(report.notes, describe(options.measure));
  report.requirement = options.measure.requirement;
  if (options.measure.requirement) report.figures.passed = options.typed_model.file().stem() != "missed";
  return report;
}
VerifyReport explain_file(const ExplainFileOptions& options, const JobSinks& sinks) { return verify(options, sinks); }

QuantizeResult quantize(const QuantizeOptions& options, const JobSinks& sinks) {
  act(options.model, sinks);
  QuantizeResult result;
  result.typed.file = options.output.string();
  append(result.notes,
         std::vector{fmt::format("plan={} external_data={}", options.plan.string(), options.external_data.wanted)});
  append(result.notes, describe(options.precision));
  append(result.notes, describe(options.measure));
  return result;
}

CalibrateReport calibrate(const CalibrateOptions& options, const JobSinks& sinks) {
  act(options.model, sinks);
  CalibrateReport report;
  report.command = options.command;
  append(report.notes,
         std::vector{fmt::format("model={} output={} form={}", options.model.name(), options.output.string(),
                                 options.output_form ? word_of(*options.output_form) : "")});
  append(report.notes, describe(options.precision));
  append(report.notes, describe(options.measure));
  return report;
}
DebugLossReport debug_loss(const DebugLossOptions& options, const JobSinks& sinks) {
  act(options.float_model, sinks);
  DebugLossReport report;
  report.float_file = options.float_model.name();
  report.quantized_file = options.quantized_model.name();
  return report;
}
std::string report_to_text(const DebugLossReport& report, const TextOptions&) {
  return fmt::format("float={} quantized={}", report.float_file, report.quantized_file);
}
std::string report_to_json(const DebugLossReport&) { return "{}"; }
std::string report_to_csv(const DebugLossReport&) { return "layer"; }

CheckPlacementReport check_placement(const CheckPlacementOptions& options, const JobSinks&) {
  act(options.model, {});
  CheckPlacementReport report;
  report.file = options.model.name();
  report.target = options.target;
  return report;
}
std::string report_to_text(const CheckPlacementReport& report, const TextOptions&) {
  return fmt::format("file={} target={}", report.file, word_of(report.target));
}
std::string report_to_json(const CheckPlacementReport&) { return "{}"; }

SchemeReport inspect_formats(const OnnxModel& model, const std::filesystem::path&) {
  act(model, {});
  SchemeReport report;
  report.file = model.name();
  return report;
}
SchemeReport inspect_plan(const std::filesystem::path& plan, const OnnxModel& model) {
  act(plan, {});
  SchemeReport report;
  report.file = fmt::format("{} of {}", plan.string(), model.name());
  return report;
}
std::string report_to_text(const SchemeReport& report, const TextOptions&) { return "formats of " + report.file; }
std::string report_to_json(const SchemeReport&) { return "{}"; }
std::string report_to_csv(const SchemeReport&) { return "layer"; }

std::string result_to_json(const QuantizeResult&) { return "{}"; }

ModelInspection inspect_model(const InspectOptions& options) {
  act(options.model, {});
  std::vector<std::string> show;
  if (options.nodes) show.emplace_back("layers");
  if (options.attributes) show.emplace_back("attrs");
  if (options.weights) show.emplace_back("weights");
  ModelInspection report;
  report.file = fmt::format("model={} show={}", options.model.name(), show);
  return report;
}
std::string list_like_polygraphy(const InspectOptions&) { return ""; }
std::string report_to_text(const ModelInspection& report, const TextOptions&) { return report.file; }
std::string report_to_json(const ModelInspection&) { return "{}"; }
std::string report_to_json(const DoctorReport&) { return "{}"; }

CheckAccuracyResult check_accuracy(const CheckAccuracyOptions& options) {
  act(options.path, {});
  CheckAccuracyResult result;
  result.passed = options.path.stem() != "missed";
  std::string text =
      fmt::format("path={} save={} average={}\n", options.path.string(), options.save.string(), options.check_average);
  for (const CompareFunction function : options.again.functions) {
    text += fmt::format("function {}\n", compare_function_name(function));
  }
  if (options.again.atol.general) text += fmt::format("atol {}\n", *options.again.atol.general);
  for (const auto& [output, value] : options.again.atol.own) text += fmt::format("atol '{}' {}\n", output, value);
  for (const auto& [function, setting] : options.again.thresholds) {
    text += fmt::format("{} {}\n", compare_function_name(function), setting.general.value_or(-1));
  }
  result.pairs.emplace_back().run = text;
  return result;
}
std::string result_to_text(const CheckAccuracyResult& result, const ComparisonTextOptions&) {
  return result.pairs.front().run;
}

DataInspection inspect_data(const InspectDataOptions& options) {
  act(options.path, {});
  DataInspection report;
  report.file = fmt::format("path={} all={} values={} histogram={} items={} width={}", options.path.string(),
                            options.all, options.show_values, options.histogram, options.edge_items.value_or(-1),
                            options.line_width.value_or(-1));
  return report;
}
std::string report_to_text(const DataInspection& report) { return report.file; }
std::string report_to_json(const DataInspection& report) { return report.file; }

JoinedData describe(const char* job, const SavedFilesOptions& options, const JobSinks& sinks) {
  std::string text = job;
  for (const std::filesystem::path& path : options.paths) {
    act(path, sinks);
    text += " " + path.string();
  }
  return {text + " -> " + options.output.string(), 0, {}};
}
JoinedData merge_data(const SavedFilesOptions& options, const JobSinks& sinks) {
  return describe("merge", options, sinks);
}
JoinedData concat_data(const SavedFilesOptions& options, const JobSinks& sinks) {
  return describe("concat", options, sinks);
}
std::string merged_to_text(const JoinedData& result) { return result.file.string(); }
std::string joined_to_text(const JoinedData& result) { return result.file.string(); }

DoctorReport doctor(const std::string&) { return {}; }
std::string report_to_text(const DoctorReport&) { return "nothing is here\n"; }

std::string report_to_json(const DiagnoseReport& report) {
  return fmt::format("{{\"notes\": {}}}", report.notes.size());
}
std::string report_to_json(const VerifyReport& report) { return fmt::format("{{\"notes\": {}}}", report.notes.size()); }
std::string report_to_text(const DiagnoseReport& report, const TextOptions& options) {
  return fmt::format("width={} top={} color={}\n{}\n", options.width, options.top, options.color,
                     fmt::join(note_texts(report.notes), "\n"));
}
std::string report_to_text(const VerifyReport& report, const TextOptions& options) {
  return fmt::format("width={} top={} color={}\n{}\n", options.width, options.top, options.color,
                     fmt::join(note_texts(report.notes), "\n"));
}
std::string report_to_json(const CalibrateReport& report) {
  return fmt::format("{{\"notes\": {}}}", report.notes.size());
}
std::string report_to_text(const CalibrateReport& report, const TextOptions& options) {
  return fmt::format("width={} top={}\n{}\n", options.width, options.top, fmt::join(note_texts(report.notes), "\n"));
}
std::string result_to_text(const QuantizeResult& result, const TextOptions&) {
  return fmt::format("file={}\n{}\n", result.typed.file, fmt::join(note_texts(result.notes), "\n"));
}

}  // namespace vernier
