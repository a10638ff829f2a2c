// `vernier inspect model --show formats` and `vernier inspect plan` as JSON, and their layers as CSV.
#include <string>
#include <tuple>

#include "report/export/csv.h"
#include "report/json/document.h"
#include "vernier/marks.h"
#include "vernier/report/note_text.h"
#include "vernier/report/scheme.h"

namespace vernier {

template <>
struct Fields<FormatRow> {
  using R = FormatRow;
  static constexpr auto list =
      std::tuple{Field{"format", &R::format}, Field{"layers", &R::layers}, Field{"multiply_accumulates", &R::macs},
                 Field{"weight_bytes", &R::weight_bytes}};
};

template <>
struct Fields<SchemeLayer> {
  using R = SchemeLayer;
  static constexpr auto list =
      std::tuple{Field{"name", &R::name}, Field{"operator", &R::op_type}, Field{"format", &R::format},
                 Field{"multiply_accumulates", &R::macs}, Prose{"why_not_lower", &R::why_not}};
};

template <>
struct Fields<SchemeReport> {
  using R = SchemeReport;
  static constexpr auto list = std::tuple{Field{"version", &R::version},
                                          Field{"file", &R::file},
                                          Field{"scheme", &R::scheme},
                                          Field{"formats", &R::formats},
                                          Field{"layers", &R::layers},
                                          Field{"open_dimensions", &R::open_dimensions},
                                          Remarks{"notes", "note_codes", &R::notes, note_texts},
                                          Field{"fused_pairs", &R::fused_pairs},
                                          Field{"standalone_pairs", &R::standalone_pairs},
                                          Field{"stored_constants", &R::stored_constants},
                                          Field{"casts", &R::casts}};
};

std::string report_to_json(const SchemeReport& report) { return to_document(ReportKind::InspectFormats, report); }

std::string report_to_csv(const SchemeReport& report) {
  std::string text = csv_line({"layer", "operator", "format", "multiply_accumulates", "why_not_lower"});
  for (const SchemeLayer& layer : report.layers) {
    text += csv_line({layer.name, layer.op_type, format_name(layer.format), layer.macs, command_words(layer.why_not)});
  }
  return text;
}

}  // namespace vernier
