// The report of `vernier eval` as JSON.
#include <string>
#include <tuple>

#include "report/json/document.h"
#include "vernier/report/eval.h"
#include "vernier/report/note_text.h"

namespace vernier {

template <>
struct Fields<EvalModel> {
  using R = EvalModel;
  /// By their names, in the order of the task: the first one decides.
  static Json figures(const R& model) {
    Json figures = Json::object();
    for (const TaskFigure& figure : model.figures) figures[figure.name] = figure.value;
    return figures;
  }
  static constexpr auto list =
      std::tuple{Field{"file", &R::file}, Field{"runner", &R::runner}, Derived{"figures", figures}};
};

template <>
struct Fields<EvalReport> {
  using R = EvalReport;
  static constexpr auto list = std::tuple{Field{"version", &R::version},
                                          Field{"command", &R::command},
                                          Field{"task", &R::task},
                                          Field{"data", &R::data},
                                          Field{"labels", &R::labels},
                                          Field{"samples", &R::samples},
                                          Field{"models", &R::models},
                                          Field{"max_abs_error", &R::max_abs_error},
                                          Field{"max_abs_error_people_start_from", &R::preset},
                                          Derived{"passed", [](const R& report) { return report.missed.empty(); }},
                                          Prose{"missed", &R::missed},
                                          Remarks{"warnings", "warning_codes", &R::warnings, note_texts}};
};

std::string report_to_json(const EvalReport& report) { return to_document(ReportKind::Eval, report); }

}  // namespace vernier
