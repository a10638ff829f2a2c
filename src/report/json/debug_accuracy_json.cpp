// The report of `vernier debug accuracy` as JSON.
#include <string>
#include <tuple>

#include "report/json/document.h"
#include "vernier/report/debug_accuracy.h"
#include "vernier/report/note_text.h"

namespace vernier {

template <>
struct Fields<AccuracyRow> {
  using R = AccuracyRow;
  static constexpr auto list =
      std::tuple{Field{"layer", &R::layer},          Field{"op_type", &R::op_type},         Field{"tensor", &R::tensor},
                 Field{"sqnr_db", &R::sqnr_db},      Field{"arriving_db", &R::arriving_db}, Field{"error", &R::role},
                 Field{"not_finite", &R::not_finite}};
};

template <>
struct Fields<DebugAccuracyReport> {
  using R = DebugAccuracyReport;
  static constexpr auto list = std::tuple{Field{"version", &R::version},
                                          Field{"command", &R::command},
                                          Field{"model_file", &R::model_file},
                                          Field{"reference_run", &R::reference_run},
                                          Field{"tested_run", &R::tested_run},
                                          Field{"data", &R::data},
                                          Field{"iterations", &R::iterations},
                                          Field{"min_sqnr_db", &R::min_sqnr_db},
                                          Field{"passed", &R::passed},
                                          Prose{"not_compared", &R::not_compared},
                                          Remarks{"warnings", "warning_codes", &R::warnings, note_texts},
                                          Field{"layers", &R::layers}};
};

std::string report_to_json(const DebugAccuracyReport& report) { return to_document(ReportKind::DebugAccuracy, report); }

}  // namespace vernier
