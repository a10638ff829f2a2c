// The report of `vernier verify` as JSON.
#include <string>
#include <tuple>

#include "report/json/document.h"
#include "report/json/fields_engine.h"
#include "report/json/fields_figures.h"
#include "report/json/fields_kept_set.h"
#include "report/json/kind_schema.h"
#include "vernier/report/note_text.h"
#include "vernier/report/outcome.h"
#include "vernier/report/schema.h"
#include "vernier/report/verify.h"

namespace vernier {

template <>
struct Fields<ExactOutput> {
  using R = ExactOutput;
  static constexpr auto list = std::tuple{Field{"name", &R::name}, Field{"what", &R::what},
                                          Field{"samples", &R::samples}, Field{"equal", &R::equal}};
};

template <>
struct Fields<EnginePlacement> {
  using R = EnginePlacement;
  static constexpr bool (*refused)(const R&) = [](const R& row) { return !row.refused.empty(); };
  static constexpr auto list =
      std::tuple{Field{"target", &R::target}, Field{"pairs", &R::pairs}, Field{"not_fused", &R::not_fused},
                 Prose{"first", &R::first}, Prose{"refused", &R::refused, refused}};
};

template <>
struct Fields<VerifyReport> {
  using R = VerifyReport;
  static constexpr bool (*exact)(const R&) = [](const R& report) { return !report.exact_outputs.empty(); };
  static constexpr bool (*by_task)(const R&) = [](const R& report) { return !report.objective.empty(); };
  static constexpr bool (*in_doubt)(const R&) = [](const R& report) { return !report.doubt.empty(); };
  static constexpr bool (*explained)(const R&) = [](const R& report) { return !report.placements.empty(); };
  static constexpr bool (*defective)(const R&) = [](const R& report) { return !report.defects.empty(); };
  static constexpr bool (*was_examined)(const R&) = [](const R& report) { return report.examined > 0; };
  static constexpr bool (*written)(const R&) = [](const R& report) { return !report.files.empty(); };
  static constexpr bool (*quantized)(const R&) = [](const R& report) { return report.reference_quantized; };
  static constexpr bool (*none_low)(const R&) = [](const R& report) { return report.nothing_low; };
  static constexpr auto outcome = [](const R& report) { return std::string(word_of(outcome_of(report))); };
  static constexpr bool (*on_engine)(const R&) = [](const R& report) { return report.engine.has_value(); };
  static constexpr auto list = std::tuple{
      Derived{"outcome", outcome},
      Field{"version", &R::version},
      Field{"command", &R::command},
      Field{"vernier_version", &R::vernier_version},
      Field{"onnxruntime_version", &R::onnxruntime_version},
      Field{"on_gpu", &R::on_gpu, ran_on_gpu<R>},
      Field{"onnx_version", &R::onnx_version},
      Field{"machine", &R::machine},
      Field{"float_file", &R::float_file},
      Field{"float_sha256", &R::float_sha256},
      Field{"typed_file", &R::typed_file},
      Field{"typed_sha256", &R::typed_sha256},
      Field{"data", &R::data},
      Field{"samples", &R::samples},
      Field{"random_data", &R::random_data},
      Field{"reference_quantized", &R::reference_quantized, quantized},
      Field{"nothing_low", &R::nothing_low, none_low},
      Field{"requirement", &R::requirement},
      Field{"figures", &R::figures},
      Field{"other_sums", &R::other_sums},
      Field{"saturated_pairs", &R::saturated_pairs},
      Field{"not_simulated", &R::not_simulated},
      Prose{"objective", &R::objective, by_task},
      Field{"test", &R::test},
      Field{"engine_test", &R::engine_test},
      Field{"exact_outputs", &R::exact_outputs, exact},
      Field{"engine", &R::engine, on_engine},
      Field{"placements", &R::placements, explained},
      Field{"compiled", &R::compiled},
      Field{"defects", &R::defects, defective},
      Field{"examined", &R::examined, was_examined},
      Prose{"doubt", &R::doubt, in_doubt},
      Field{"compared", &R::compared},
      Remarks{"not_compared", "not_compared_codes", &R::not_compared, note_texts},
      Field{"phases", &R::phases},
      Remarks{"warnings", "warning_codes", &R::warnings, note_texts},
      Remarks{"notes", "note_codes", &R::notes, note_texts},
      Field{"files", &R::files, written},
      Field{"layers", &R::layers},
  };
};

Json document_of(const VerifyReport& report) { return document_of(ReportKind::Verify, json_of(report)); }

std::string verify_schema() {
  return json_text(kind_schema<VerifyReport>(ReportKind::Verify,
                                             "The report of vernier verify. Values that were not measured are absent."),
                   kPrettyJson) +
         "\n";
}

std::string report_to_json(const VerifyReport& report) { return to_document(ReportKind::Verify, report); }

VerifyReport verify_report_from_json(const std::string& text, const std::string& where) {
  return from_document<VerifyReport>(ReportKind::Verify, text, where);
}

}  // namespace vernier
