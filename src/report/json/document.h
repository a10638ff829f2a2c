// The documents that jobs write: what wrote them, then the fields of the report (json/fields.h). Which kinds there are
// is in include/vernier/report/kind.h.
#pragma once

#include <string>

#include "json/fields.h"
#include "vernier/report/kind.h"

namespace vernier {

struct DiagnoseReport;
struct PipelineReport;
struct VerifyReport;

/// For Field::present.
template <class Report>
constexpr bool ran_on_gpu(const Report& report) {
  return report.on_gpu;
}

/// {"kind": ...} before the members of `report`, which must be an object.
Json document_of(ReportKind kind, Json report);
/// The text of the same.
std::string document_text(ReportKind kind, Json report);

/// What pages hold as their data.
Json document_of(const DiagnoseReport& report);
Json document_of(const PipelineReport& report);
Json document_of(const VerifyReport& report);

/// Errors: Input when the text is no JSON, a document of another kind, or of another version.
Json parse_document(ReportKind wanted, const std::string& text, const std::string& where);

template <class Report>
std::string to_document(ReportKind kind, const Report& report) {
  return document_text(kind, json_of(report));
}

/// Errors: Input as parse_document, and when a field is not as it should be.
template <class Report>
Report from_document(ReportKind wanted, const std::string& text, const std::string& where) {
  const Json json = parse_document(wanted, text, where);
  Report report;
  read_json(json, Place(where), report);
  return report;
}

}  // namespace vernier
