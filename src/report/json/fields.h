// Keys of the reports of diagnose and verify; with those of all other subjects (field.h says how they are written).
#pragma once

#include <tuple>

#include "report/json/field.h"
#include "report/json/fields_calibrate.h"
#include "report/json/fields_comparing.h"
#include "report/json/fields_explanation.h"
#include "report/json/fields_kept_set.h"
#include "report/json/fields_pipeline.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/figures.h"
#include "vernier/report/typed.h"
#include "vernier/report/verify.h"
#include "vernier/requirement.h"

namespace vernier {

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
                                          Field{"sensitivity_db", &LayerRow::sensitivity_db, nullptr, "effect_db"},
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
  // Reports of earlier versions, and those that were not written, have none of these.
  static constexpr bool (*drawn)(const R&) = [](const R& report) { return !report.network.empty(); };
  static constexpr bool (*pictured)(const R&) = [](const R& report) { return !report.pictures.empty(); };
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
      Field{"repaired", &R::repaired},
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
      Field{"explanation", &R::explanation},
      Field{"network", &R::network, drawn},
      Field{"pictures", &R::pictures, pictured},
  };
};

template <>
struct Fields<VerifyReport> {
  using R = VerifyReport;
  static constexpr bool (*by_task)(const R&) = [](const R& report) { return !report.objective.empty(); };
  static constexpr bool (*in_doubt)(const R&) = [](const R& report) { return !report.doubt.empty(); };
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
      Field{"objective", &R::objective, by_task},
      Field{"test", &R::test},
      Field{"doubt", &R::doubt, in_doubt},
      Field{"compared", &R::compared},
      Field{"not_compared", &R::not_compared},
      Field{"phases", &R::phases},
      Field{"warnings", &R::warnings},
      Field{"notes", &R::notes},
      Field{"layers", &R::layers},
  };
};

}  // namespace vernier
