// The report of `vernier calibrate` as JSON.
#include <string>
#include <tuple>

#include "report/json/document.h"
#include "vernier/report/calibrate.h"
#include "vernier/report/note_text.h"

namespace vernier {

template <>
struct Fields<MaskReport> {
  using R = MaskReport;
  static constexpr auto list = std::tuple{Field{"low", &R::low}, Field{"high", &R::high}, Field{"count", &R::count}};
};

template <>
struct Fields<RangeRow> {
  using R = RangeRow;
  // What a cache says of a tensor are its ends; nothing was seen.
  static constexpr bool (*seen)(const R&) = [](const R& row) { return row.count > 0; };
  static constexpr auto list = std::tuple{Field{"tensor", &R::tensor},
                                          Field{"format", &R::format},
                                          Field{"method", &R::method},
                                          Field{"quantized", &R::quantized},
                                          Field{"min", &R::min},
                                          Field{"max", &R::max},
                                          Field{"seen_min", &R::seen_min, seen},
                                          Field{"seen_max", &R::seen_max, seen},
                                          Field{"count", &R::count, seen},
                                          Field{"nonfinite", &R::nonfinite, seen},
                                          Field{"mask", &R::mask},
                                          Field{"clipped", &R::clipped},
                                          Field{"halves_differ", &R::halves_differ},
                                          Field{"uncovered", &R::uncovered},
                                          Field{"growth", &R::growth}};
};

template <>
struct Fields<Sufficiency> {
  using R = Sufficiency;
  static constexpr auto list =
      std::tuple{Field{"tensors", &R::tensors},     Field{"differ", &R::differ}, Field{"grow", &R::grow},
                 Field{"uncovered", &R::uncovered}, Field{"enough", &R::enough}, Prose{"text", &R::text}};
};

template <>
struct Fields<CalibrateReport> {
  using R = CalibrateReport;
  static constexpr auto list = std::tuple{Field{"version", &R::version},
                                          Field{"command", &R::command},
                                          Field{"vernier_version", &R::vernier_version},
                                          Field{"onnxruntime_version", &R::onnxruntime_version},
                                          Field{"on_gpu", &R::on_gpu, ran_on_gpu<R>},
                                          Field{"model_file", &R::model_file},
                                          Field{"model_sha256", &R::model_sha256},
                                          Field{"data", &R::data},
                                          Field{"data_sha256", &R::data_sha256},
                                          Field{"samples", &R::samples},
                                          Field{"scheme", &R::scheme},
                                          Field{"method", &R::method},
                                          Prose{"answer", &R::answer},
                                          Field{"ranges_from", &R::ranges_from},
                                          Field{"sufficiency", &R::sufficiency},
                                          Field{"files", &R::files},
                                          Field{"seconds", &R::seconds},
                                          Remarks{"warnings", "warning_codes", &R::warnings, note_texts},
                                          Remarks{"notes", "note_codes", &R::notes, note_texts},
                                          Field{"tensors", &R::tensors}};
};

std::string report_to_json(const CalibrateReport& report) { return to_document(ReportKind::Calibrate, report); }

}  // namespace vernier
