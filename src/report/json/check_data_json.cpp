// The report of `vernier check data` as JSON.
#include <string>
#include <tuple>

#include "report/json/document.h"
#include "vernier/report/check_data.h"
#include "vernier/report/note_text.h"

namespace vernier {

template <>
struct Fields<SeenInput> {
  using R = SeenInput;
  static constexpr auto list =
      std::tuple{Field{"name", &R::name}, Field{"shape", &R::shape}, Field{"min", &R::min},
                 Field{"max", &R::max},   Field{"mean", &R::mean},   Field{"deviation", &R::deviation}};
};

template <>
struct Fields<InputReading> {
  using R = InputReading;
  static constexpr auto list = std::tuple{Field{"change", &R::change}, Field{"accuracy", &R::accuracy},
                                          Field{"misfit", &R::misfit}, Field{"confidence", &R::confidence}};
};

template <>
struct Fields<SeenNorm> {
  using R = SeenNorm;
  static constexpr auto list = std::tuple{Field{"node", &R::node}, Field{"shift", &R::shift}, Field{"ratio", &R::ratio},
                                          Field{"misfit", &R::misfit}};
};

template <>
struct Fields<OutputReading> {
  using R = OutputReading;
  static constexpr auto list =
      std::tuple{Field{"change", &R::change}, Prose{"options", &R::do_this}, Field{"value", &R::value}};
};

template <>
struct Fields<OutputVerdict> {
  using R = OutputVerdict;
  static constexpr auto list = std::tuple{Field{"figure", &R::figure}, Field{"better", &R::better},
                                          Prose{"answer", &R::answer}, Field{"readings", &R::readings}};
};

template <>
struct Fields<CheckDataReport> {
  using R = CheckDataReport;
  static constexpr auto list = std::tuple{Field{"version", &R::version},
                                          Prose{"answer", &R::answer},
                                          Field{"file", &R::file},
                                          Field{"data", &R::data},
                                          Field{"samples", &R::samples},
                                          Field{"decided_by", &R::decided_by},
                                          Field{"better", &R::better},
                                          Field{"undecided", &R::undecided},
                                          Field{"perhaps", &R::perhaps},
                                          Field{"unlike_training", &R::unlike_training},
                                          Field{"inputs", &R::inputs},
                                          Field{"readings", &R::readings},
                                          Field{"norms", &R::norms},
                                          Field{"outputs", &R::outputs},
                                          Remarks{"warnings", "warning_codes", &R::warnings, note_texts}};
};

std::string report_to_json(const CheckDataReport& report) { return to_document(ReportKind::CheckData, report); }

}  // namespace vernier
