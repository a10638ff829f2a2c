// What two reports differ in, as JSON.
#include <string>
#include <tuple>

#include "report/json/document.h"
#include "vernier/report/diff.h"

namespace vernier {

template <>
struct Fields<ChangedFigure> {
  using R = ChangedFigure;
  static constexpr auto list = std::tuple{Field{"name", &R::name}, Field{"before", &R::before},
                                          Field{"after", &R::after}, Field{"higher_is_better", &R::higher_is_better}};
};

template <>
struct Fields<ChangedLayer> {
  using R = ChangedLayer;
  static constexpr auto list = std::tuple{Field{"name", &R::name},
                                          Field{"op_type", &R::op_type},
                                          Field{"own_before_db", &R::own_before_db},
                                          Field{"own_after_db", &R::own_after_db},
                                          Field{"share_before", &R::share_before},
                                          Field{"share_after", &R::share_after}};
};

template <>
struct Fields<ReportDiff> {
  using R = ReportDiff;
  static constexpr auto list = std::tuple{Field{"version", &R::version},
                                          Field{"before_answer", &R::before_answer},
                                          Field{"after_answer", &R::after_answer},
                                          Field{"tolerance_db", &R::tolerance_db},
                                          Field{"worse", &R::worse},
                                          Field{"settings", &R::settings},
                                          Field{"figures", &R::figures},
                                          Field{"newly_kept", &R::newly_kept},
                                          Field{"no_longer_kept", &R::no_longer_kept},
                                          Field{"new_layers", &R::new_layers},
                                          Field{"gone_layers", &R::gone_layers},
                                          Field{"layers", &R::layers}};
};

std::string report_to_json(const ReportDiff& report) { return to_document(ReportKind::ReportDiff, report); }

}  // namespace vernier
