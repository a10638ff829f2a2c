// The report of `vernier pipeline` as JSON, and read again.
#include <string>
#include <tuple>

#include "report/json/document.h"
#include "vernier/report/pipeline.h"

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
  static constexpr auto list = std::tuple{Field{"name", &R::name},
                                          Field{"file", &R::file},
                                          Field{"is", &R::kind},
                                          Field{"on", &R::on},
                                          Field{"engine", &R::engine},
                                          Field{"step_db", &R::step_db},
                                          Field{"total_db", &R::total_db},
                                          Field{"max_abs", &R::max_abs},
                                          Field{"worst_output", &R::worst_output},
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
                                          Prose{"warnings", &R::warnings},
                                          Field{"files", &R::files}};
};

Json document_of(const PipelineReport& report) { return document_of(ReportKind::Pipeline, json_of(report)); }

std::string report_to_json(const PipelineReport& report) { return to_document(ReportKind::Pipeline, report); }

PipelineReport pipeline_report_from_json(const std::string& text, const std::string& where) {
  return from_document<PipelineReport>(ReportKind::Pipeline, text, where);
}

}  // namespace vernier
