// Keys of what two saved runs, two sides of a network and two reports differ in (field.h).
#pragma once

#include <tuple>

#include "report/json/field.h"
#include "vernier/report/data_diff.h"
#include "vernier/report/debug_accuracy.h"
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

template <>
struct Fields<DiffRow> {
  using R = DiffRow;
  static constexpr auto list =
      std::tuple{Field{"name", &R::name},           Field{"dtype", &R::dtype},
                 Field{"shape", &R::shape},         Field{"values", &R::values},
                 Field{"sqnr_db", &R::sqnr_db},     Field{"max_abs", &R::max_abs},
                 Field{"mean_abs", &R::mean_abs},   Field{"max_rel", &R::max_rel},
                 Field{"cosine", &R::cosine},       Field{"mse", &R::mse},
                 Field{"near_zero", &R::near_zero}, Field{"nonfinite", &R::nonfinite},
                 Field{"broken", &R::broken},       Field{"worst_iteration", &R::worst_iteration},
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
                                          Field{"not_compared", &R::not_compared},
                                          Field{"warnings", &R::warnings},
                                          Field{"rows", &R::rows}};
};

template <>
struct Fields<AccuracyRow> {
  using R = AccuracyRow;
  static constexpr auto list =
      std::tuple{Field{"layer", &R::layer},     Field{"op_type", &R::op_type},         Field{"tensor", &R::tensor},
                 Field{"sqnr_db", &R::sqnr_db}, Field{"arriving_db", &R::arriving_db}, Field{"error", &R::role}};
};

template <>
struct Fields<DebugAccuracyReport> {
  using R = DebugAccuracyReport;
  static constexpr auto list =
      std::tuple{Field{"version", &R::version},       Field{"command", &R::command},
                 Field{"model_file", &R::model_file}, Field{"reference_run", &R::reference_run},
                 Field{"tested_run", &R::tested_run}, Field{"data", &R::data},
                 Field{"iterations", &R::iterations}, Field{"min_sqnr_db", &R::min_sqnr_db},
                 Field{"passed", &R::passed},         Field{"not_compared", &R::not_compared},
                 Field{"warnings", &R::warnings},     Field{"layers", &R::layers}};
};

}  // namespace vernier
