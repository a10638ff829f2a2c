// What each part of a report is called in JSON: one list per type, read and written by the same code in json.cpp, so
// that both directions cannot drift apart. A new field is one line here.
#pragma once

#include <tuple>

#include "vernier/calibrate.h"
#include "vernier/data_diff.h"
#include "vernier/debug_accuracy.h"
#include "vernier/report.h"

namespace vernier {

/// `present` decides whether a field is written; where it is set, the reader takes the field as optional too.
template <class Owner, class Value>
struct Field {
  const char* key;
  Value Owner::*member;
  bool (*present)(const Owner&) = nullptr;
};

// Compilers before Clang 17 do not find these by themselves.
template <class Owner, class Value>
Field(const char*, Value Owner::*) -> Field<Owner, Value>;
template <class Owner, class Value>
Field(const char*, Value Owner::*, bool (*)(const Owner&)) -> Field<Owner, Value>;

/// The fields of a type, in file order.
template <class T>
struct Fields;

template <>
struct Fields<OutputFigure> {
  static constexpr auto list = std::tuple{Field{"name", &OutputFigure::name},
                                          Field{"sqnr_db", &OutputFigure::sqnr_db},
                                          Field{"worst_sqnr_db", &OutputFigure::worst_sqnr_db},
                                          Field{"worst_sample", &OutputFigure::worst_sample},
                                          Field{"max_abs_error", &OutputFigure::max_abs_error},
                                          Field{"mse", &OutputFigure::mse},
                                          Field{"cosine", &OutputFigure::cosine},
                                          Field{"top1_agreement", &OutputFigure::top1_agreement},
                                          Field{"nonfinite", &OutputFigure::nonfinite},
                                          Field{"reference_nonfinite", &OutputFigure::reference_nonfinite}};
};

template <>
struct Fields<RunFigures> {
  static constexpr auto list = std::tuple{Field{"outputs", &RunFigures::outputs}, Field{"passed", &RunFigures::passed},
                                          Field{"damage", &RunFigures::damage}};
};

template <>
struct Fields<LayerRow> {
  // Counts of a layer that was not looked at are not zero: they are absent.
  static constexpr bool (*counted)(const LayerRow&) = [](const LayerRow& row) { return row.values > 0; };
  static constexpr auto list = std::tuple{Field{"name", &LayerRow::name},
                                          Field{"op_type", &LayerRow::op_type},
                                          Field{"graph", &LayerRow::graph},
                                          Field{"format", &LayerRow::format},
                                          Field{"own_sqnr_db", &LayerRow::own_sqnr_db},
                                          Field{"propagated_sqnr_db", &LayerRow::propagated_sqnr_db},
                                          Field{"inherited_sqnr_db", &LayerRow::inherited_sqnr_db},
                                          Field{"effect_db", &LayerRow::effect_db},
                                          Field{"share", &LayerRow::share},
                                          Field{"values", &LayerRow::values, counted},
                                          Field{"overflowed", &LayerRow::overflowed, counted},
                                          Field{"saturated", &LayerRow::saturated, counted},
                                          Field{"subnormal", &LayerRow::subnormal, counted},
                                          Field{"flushed", &LayerRow::flushed, counted},
                                          Field{"nan", &LayerRow::nan, counted},
                                          Field{"macs", &LayerRow::macs},
                                          Field{"kept", &LayerRow::kept}};
};

template <>
struct Fields<CertificateRow> {
  static constexpr auto list =
      std::tuple{Field{"layer", &CertificateRow::layer}, Field{"metric", &CertificateRow::metric},
                 Field{"damage", &CertificateRow::damage}, Field{"lower_bound", &CertificateRow::lower_bound}};
};

template <>
struct Fields<TestRow> {
  using R = TestRow;
  static constexpr auto list =
      std::tuple{Field{"layers", &R::layers}, Field{"verdict", &R::verdict},         Field{"metric", &R::metric},
                 Field{"damage", &R::damage}, Field{"lower_bound", &R::lower_bound}, Field{"needs", &R::needs}};
};

template <>
struct Fields<ParetoPoint> {
  using R = ParetoPoint;
  static constexpr auto list =
      std::tuple{Field{"layers", &R::layers}, Field{"cost", &R::cost}, Field{"metric", &R::metric},
                 Field{"damage", &R::damage}, Field{"front", &R::front}};
};

template <>
struct Fields<MinimalInstead> {
  using R = MinimalInstead;
  static constexpr auto list =
      std::tuple{Field{"layers", &R::layers}, Field{"certified", &R::certified}, Field{"evaluations", &R::evaluations}};
};

template <>
struct Fields<KeptSetReport> {
  using R = KeptSetReport;
  // Reports of earlier versions have none of these.
  static constexpr bool (*always)(const R&) = [](const R&) { return true; };
  static constexpr bool (*traded)(const R&) = [](const R& kept) { return !kept.pareto.empty(); };
  static constexpr auto list = std::tuple{Field{"layers", &R::layers},
                                          Field{"mode", &R::mode, always},
                                          Field{"direction", &R::direction, always},
                                          Field{"end", &R::end},
                                          Field{"objective", &R::objective, always},
                                          Field{"certified", &R::certified},
                                          Field{"certificate", &R::certificate},
                                          Field{"metric", &R::metric},
                                          Field{"evaluations", &R::evaluations},
                                          Field{"recalled", &R::recalled, always},
                                          Field{"kept_macs", &R::kept_macs},
                                          Field{"total_macs", &R::total_macs},
                                          Field{"cost_unit", &R::cost_unit, always},
                                          Field{"cost", &R::cost, always},
                                          Field{"cost_of_all", &R::cost_of_all},
                                          Field{"lower_bound", &R::lower_bound},
                                          Field{"assumed", &R::assumed, always},
                                          Field{"proven", &R::proven, always},
                                          Field{"tests", &R::tests, always},
                                          Field{"minimal", &R::minimal},
                                          Field{"file_test", &R::file_test},
                                          Field{"pareto", &R::pareto, traded},
                                          Field{"notes", &R::notes}};
};

template <>
struct Fields<TypedReport> {
  static constexpr auto list = std::tuple{Field{"file", &TypedReport::file},
                                          Field{"casts", &TypedReport::casts},
                                          Field{"quantize_pairs", &TypedReport::quantize_pairs},
                                          Field{"weight_bytes", &TypedReport::weight_bytes},
                                          Field{"original_weight_bytes", &TypedReport::original_weight_bytes},
                                          Field{"notes", &TypedReport::notes}};
};

template <>
struct Fields<LatencyReport> {
  static constexpr auto list =
      std::tuple{Field{"float_ms", &LatencyReport::float_ms}, Field{"low_ms", &LatencyReport::low_ms},
                 Field{"repaired_ms", &LatencyReport::repaired_ms}, Field{"threads", &LatencyReport::threads},
                 Field{"note", &LatencyReport::note}};
};

template <>
struct Fields<PhaseTime> {
  static constexpr auto list = std::tuple{Field{"phase", &PhaseTime::phase}, Field{"seconds", &PhaseTime::seconds}};
};

template <>
struct Fields<CurvePoint> {
  static constexpr auto list =
      std::tuple{Field{"kept", &CurvePoint::kept}, Field{"predicted_sqnr_db", &CurvePoint::predicted_sqnr_db},
                 Field{"measured_sqnr_db", &CurvePoint::measured_sqnr_db}};
};

template <>
struct Fields<Limit> {
  static constexpr auto list = std::tuple{Field{"value", &Limit::value}, Field{"output", &Limit::output}};
};

template <>
struct Fields<Requirement> {
  static constexpr auto list = std::tuple{Field{"metric", &Requirement::metric}, Field{"limits", &Requirement::limits}};
};

template <>
struct Fields<DiagnoseReport> {
  using R = DiagnoseReport;
  static constexpr auto list = std::tuple{
      Field{"version", &R::version},
      Field{"command", &R::command},
      Field{"vernier_version", &R::vernier_version},
      Field{"onnxruntime_version", &R::onnxruntime_version},
      Field{"onnx_version", &R::onnx_version},
      Field{"machine", &R::machine},
      Field{"model_file", &R::model_file},
      Field{"model_sha256", &R::model_sha256},
      Field{"data", &R::data},
      Field{"data_sha256", &R::data_sha256},
      Field{"samples", &R::samples},
      Field{"calibrated_on_evaluation_samples", &R::calibrated_on_evaluation_samples},
      Field{"random_data", &R::random_data},
      Field{"interrupted", &R::interrupted},
      Field{"scheme", &R::scheme},
      Field{"runner", &R::runner},
      Field{"target", &R::target},
      Field{"low", &R::low},
      Field{"high", &R::high},
      Field{"requirement", &R::requirement},
      Field{"reference", &R::reference},
      Field{"all_high", &R::all_high},
      Field{"all_low", &R::all_low},
      Field{"kept", &R::kept},
      Field{"final_figures", &R::final_figures},
      Field{"typed", &R::typed},
      Field{"latency", &R::latency},
      Field{"phases", &R::phases},
      Field{"warnings", &R::warnings},
      Field{"notes", &R::notes},
      Field{"files", &R::files},
      Field{"curve", &R::curve},
      Field{"layers", &R::layers},
  };
};

template <>
struct Fields<VerifyReport> {
  using R = VerifyReport;
  static constexpr auto list = std::tuple{
      Field{"version", &R::version},
      Field{"command", &R::command},
      Field{"vernier_version", &R::vernier_version},
      Field{"onnxruntime_version", &R::onnxruntime_version},
      Field{"onnx_version", &R::onnx_version},
      Field{"machine", &R::machine},
      Field{"float_file", &R::float_file},
      Field{"float_sha256", &R::float_sha256},
      Field{"typed_file", &R::typed_file},
      Field{"typed_sha256", &R::typed_sha256},
      Field{"data", &R::data},
      Field{"samples", &R::samples},
      Field{"random_data", &R::random_data},
      Field{"requirement", &R::requirement},
      Field{"figures", &R::figures},
      Field{"compared", &R::compared},
      Field{"not_compared", &R::not_compared},
      Field{"phases", &R::phases},
      Field{"warnings", &R::warnings},
      Field{"notes", &R::notes},
      Field{"layers", &R::layers},
  };
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
                 Field{"uncovered", &R::uncovered}, Field{"enough", &R::enough}, Field{"text", &R::text}};
};

template <>
struct Fields<CalibrateReport> {
  using R = CalibrateReport;
  static constexpr auto list = std::tuple{Field{"version", &R::version},
                                          Field{"command", &R::command},
                                          Field{"vernier_version", &R::vernier_version},
                                          Field{"onnxruntime_version", &R::onnxruntime_version},
                                          Field{"model_file", &R::model_file},
                                          Field{"model_sha256", &R::model_sha256},
                                          Field{"data", &R::data},
                                          Field{"data_sha256", &R::data_sha256},
                                          Field{"samples", &R::samples},
                                          Field{"scheme", &R::scheme},
                                          Field{"method", &R::method},
                                          Field{"answer", &R::answer},
                                          Field{"ranges_from", &R::ranges_from},
                                          Field{"sufficiency", &R::sufficiency},
                                          Field{"files", &R::files},
                                          Field{"seconds", &R::seconds},
                                          Field{"warnings", &R::warnings},
                                          Field{"notes", &R::notes},
                                          Field{"tensors", &R::tensors}};
};

}  // namespace vernier
