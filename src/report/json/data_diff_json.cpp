// The report of `vernier data diff` as JSON and as CSV.
#include <cstddef>
#include <string>
#include <tuple>

#include "base/text.h"
#include "report/export/csv.h"
#include "report/json/document.h"
#include "vernier/report/data_diff.h"
#include "vernier/report/note_text.h"

namespace vernier {

template <>
struct Fields<DiffRow> {
  using R = DiffRow;
  static constexpr bool (*breaks)(const R&) = [](const R& row) { return row.broken_reference > 0; };
  static constexpr auto list = std::tuple{Field{"name", &R::name},
                                          Field{"dtype", &R::dtype},
                                          Field{"shape", &R::shape},
                                          Field{"values", &R::values},
                                          Field{"sqnr_db", &R::sqnr_db},
                                          Field{"max_abs", &R::max_abs},
                                          Field{"mean_abs", &R::mean_abs},
                                          Field{"max_rel", &R::max_rel},
                                          Field{"cosine", &R::cosine},
                                          Field{"mse", &R::mse},
                                          Field{"near_zero", &R::near_zero},
                                          Field{"nonfinite", &R::nonfinite},
                                          Field{"broken", &R::broken},
                                          Field{"broken_reference", &R::broken_reference, breaks},
                                          Field{"worst_iteration", &R::worst_iteration},
                                          Field{"beyond", &R::beyond}};
};

template <>
struct Fields<DiffReport> {
  using R = DiffReport;
  static constexpr auto list = std::tuple{Field{"version", &R::version},
                                          Field{"command", &R::command},
                                          Field{"reference_file", &R::reference_file},
                                          Field{"reference_run", &R::reference_run},
                                          Field{"tested_file", &R::tested_file},
                                          Field{"tested_run", &R::tested_run},
                                          Field{"iterations", &R::iterations},
                                          Field{"metric", &R::metric},
                                          Field{"threshold", &R::threshold},
                                          Field{"passed", &R::passed},
                                          Field{"all_bad", &R::all_bad},
                                          Prose{"not_compared", &R::not_compared},
                                          Remarks{"warnings", "warning_codes", &R::warnings, note_texts},
                                          Field{"rows", &R::rows}};
};

std::string report_to_json(const DiffReport& report) { return to_document(ReportKind::DataDiff, report); }

std::string report_to_csv(const DiffReport& report) {
  Json::Array heading{"rank", "output", "dtype", "shape", "values"};
  for (const DiffMetric metric : all_diff_metrics()) heading.push_back(word_of(metric));
  for (const char* const key : {"near_zero", "nonfinite", "worst_iteration", "beyond"}) heading.push_back(key);
  std::string text = csv_line(heading);
  std::size_t rank = 0;
  for (const DiffRow& row : report.rows) {
    Json::Array cells{++rank, row.name, dtype_name(row.dtype), shape_text(row.shape), row.values};
    for (const DiffMetric metric : all_diff_metrics()) cells.push_back(row.value(metric));
    cells.insert(cells.end(), {row.near_zero, row.nonfinite, row.worst_iteration, row.beyond ? 1 : 0});
    text += csv_line(cells);
  }
  return text;
}

}  // namespace vernier
