// The report of `vernier pipeline` as JSON, and read again.
#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>

#include "report/json/document.h"
#include "report/json/kind_schema.h"
#include "vernier/format.h"
#include "vernier/report/note_text.h"
#include "vernier/report/pipeline.h"
#include "vernier/report/schema.h"

namespace vernier {

template <>
struct Fields<TaskFigure> {
  using R = TaskFigure;
  static constexpr auto list = std::tuple{Field{"name", &R::name}, Field{"value", &R::value},
                                          Field{"higher_is_better", &R::higher_is_better}, Field{"share", &R::share}};
};

template <>
struct Fields<StageReport> {
  using R = StageReport;
  static constexpr bool (*lowers)(const R&) = [](const R& stage) { return !stage.formats.empty(); };
  static constexpr bool (*breaks)(const R&) = [](const R& stage) { return stage.not_finite_before > 0; };
  static constexpr auto list = std::tuple{Field{"name", &R::name},
                                          Field{"file", &R::file},
                                          Derived{"is", [](const R& stage) { return stage_text(stage); }},
                                          Field{"kind", &R::kind, optional_field<R>},
                                          Field{"formats", &R::formats, lowers},
                                          Field{"on", &R::on},
                                          Field{"engine", &R::engine},
                                          Field{"step_db", &R::step_db},
                                          Field{"total_db", &R::total_db},
                                          Field{"max_abs", &R::max_abs},
                                          Field{"worst_output", &R::worst_output},
                                          Field{"not_finite_before", &R::not_finite_before, breaks},
                                          Field{"figures", &R::figures},
                                          Prose{"not_compared", &R::not_compared}};
};

template <>
struct Fields<PipelineReport> {
  using R = PipelineReport;
  static constexpr auto list = std::tuple{Field{"version", &R::version},
                                          Field{"command", &R::command},
                                          Field{"vernier_version", &R::vernier_version},
                                          Field{"onnxruntime_version", &R::onnxruntime_version},
                                          Field{"onnx_version", &R::onnx_version},
                                          Field{"machine", &R::machine},
                                          Field{"data", &R::data},
                                          Field{"samples", &R::samples},
                                          Field{"min_sqnr_db", &R::min_sqnr_db},
                                          Field{"lost_at", &R::lost_at},
                                          Prose{"answer", &R::answer},
                                          Field{"seconds", &R::seconds},
                                          Field{"stages", &R::stages},
                                          Field{"next", &R::next},
                                          Remarks{"warnings", "warning_codes", &R::warnings, note_texts},
                                          Field{"files", &R::files}};
};

Json document_of(const PipelineReport& report) { return document_of(ReportKind::Pipeline, json_of(report)); }

std::string pipeline_schema() {
  return json_text(
             kind_schema<PipelineReport>(ReportKind::Pipeline,
                                         "The report of vernier pipeline. Values that were not measured are absent."),
             kPrettyJson) +
         "\n";
}

std::string report_to_json(const PipelineReport& report) { return to_document(ReportKind::Pipeline, report); }

namespace {

/// What 0.2 and earlier said of a stage in words alone.
void read_former_words(const std::string& is, StageReport& stage) {
  if (is.starts_with("saved outputs")) {
    stage.kind = is == "saved outputs" ? StageKind::SavedOutputs : StageKind::SavedRows;
    return;
  }
  stage.kind = is == "engine" ? StageKind::Engine : StageKind::Model;
  for (std::size_t at = 0; at < is.size();) {
    const std::size_t end = std::min(is.find(" and ", at), is.size());
    const std::optional<Format> format = parse_format(is.substr(at, end - at));
    if (format && format != Format::Float32) stage.formats.push_back(*format);
    at = end + std::string_view(" and ").size();
  }
}

}  // namespace

std::span<const std::string_view> words_of(StageKind /*which*/) {
  static constexpr std::array<std::string_view, 4> kWords{"saved-outputs", "saved-rows", "model", "engine"};
  return kWords;
}

PipelineReport pipeline_report_from_json(const std::string& text, const std::string& where) {
  const Json json = parse_document(ReportKind::Pipeline, text, where);
  PipelineReport report;
  read_json(json, Place(where), report);
  for (std::size_t i = 0; i < report.stages.size(); ++i) {
    const Json& stage = json.at("stages").at(i);
    if (!stage.contains("kind")) read_former_words(stage.at("is").text(), report.stages[i]);
  }
  return report;
}

}  // namespace vernier
