// Keys of the figures that several reports hold (json/field.h).
#pragma once

#include <tuple>

#include "json/fields.h"
#include "vernier/report/defects.h"
#include "vernier/report/figures.h"
#include "vernier/requirement.h"

namespace vernier {

template <>
struct Fields<FoundDefect> {
  using R = FoundDefect;
  static constexpr bool (*has_cure)(const R&) = [](const R& defect) { return !defect.cure.empty(); };
  static constexpr auto list =
      std::tuple{Field{"kind", &R::kind}, Field{"node", &R::node}, Prose{"text", &R::text},
                 Prose{"cure", &R::cure, has_cure}, Field{"refused", &R::refused, &optional_field<R>}};
};

template <>
struct Fields<SamplingInterval> {
  static constexpr auto list = std::tuple{Field{"low", &SamplingInterval::low}, Field{"high", &SamplingInterval::high}};
};

template <>
struct Fields<SampleFigure> {
  static constexpr auto list =
      std::tuple{Field{"sample", &SampleFigure::sample}, Field{"sqnr_db", &SampleFigure::sqnr_db},
                 Field{"top1_agreement", &SampleFigure::top1_agreement}};
};

template <>
struct Fields<HeavyTail> {
  static constexpr auto list = std::tuple{Field{"samples", &HeavyTail::samples}, Field{"share", &HeavyTail::share}};
};

template <>
struct Fields<SoftmaxInput> {
  static constexpr bool (*claims)(const SoftmaxInput&) = [](const SoftmaxInput& input) {
    return input.sqnr_above.has_value();
  };
  static constexpr auto list =
      std::tuple{Field{"tensor", &SoftmaxInput::tensor}, Field{"sqnr_db", &SoftmaxInput::sqnr_db},
                 Field{"sqnr_db_above", &SoftmaxInput::sqnr_above, claims}};
};

template <>
struct Fields<OutputFigure> {
  static constexpr bool (*has_tail)(const OutputFigure&) = [](const OutputFigure& figure) {
    return figure.heavy_tail.has_value();
  };
  static constexpr bool (*has_input)(const OutputFigure&) = [](const OutputFigure& figure) {
    return figure.softmax_input.has_value();
  };
  static constexpr bool (*has_axis)(const OutputFigure&) = [](const OutputFigure& figure) {
    return figure.class_axis.has_value();
  };
  static constexpr bool (*has_samples)(const OutputFigure&) = [](const OutputFigure& figure) {
    return !figure.worst_samples.empty();
  };
  static constexpr bool (*claims_sqnr)(const OutputFigure&) = [](const OutputFigure& figure) {
    return figure.sqnr_above.has_value();
  };
  static constexpr bool (*claims_top1)(const OutputFigure&) = [](const OutputFigure& figure) {
    return figure.top1_above.has_value();
  };
  static constexpr bool (*loses)(const OutputFigure&) = [](const OutputFigure& figure) {
    return figure.lost_infinities > 0;
  };
  static constexpr auto list = std::tuple{Field{"name", &OutputFigure::name},
                                          Field{"sqnr_db", &OutputFigure::sqnr_db},
                                          Field{"worst_sqnr_db", &OutputFigure::worst_sqnr_db},
                                          Field{"worst_sample", &OutputFigure::worst_sample},
                                          Field{"max_abs_error", &OutputFigure::max_abs_error},
                                          Field{"mse", &OutputFigure::mse},
                                          Field{"cosine", &OutputFigure::cosine},
                                          Field{"top1_agreement", &OutputFigure::top1_agreement},
                                          Field{"sqnr_db_95_percent", &OutputFigure::sqnr_interval},
                                          Field{"top1_agreement_95_percent", &OutputFigure::top1_interval},
                                          Field{"sqnr_db_above", &OutputFigure::sqnr_above, claims_sqnr},
                                          Field{"top1_agreement_above", &OutputFigure::top1_above, claims_top1},
                                          Field{"heavy_tail", &OutputFigure::heavy_tail, has_tail},
                                          Field{"softmax_input", &OutputFigure::softmax_input, has_input},
                                          Field{"class_axis", &OutputFigure::class_axis},
                                          Prose{"class_axis_from", &OutputFigure::class_axis_from, has_axis},
                                          Field{"nonfinite", &OutputFigure::nonfinite},
                                          Field{"reference_nonfinite", &OutputFigure::reference_nonfinite},
                                          Field{"lost_infinities", &OutputFigure::lost_infinities, loses},
                                          Field{"worst_samples", &OutputFigure::worst_samples, has_samples}};
};

template <>
struct Fields<AgreementChange> {
  using R = AgreementChange;
  static constexpr auto list =
      std::tuple{Field{"worse", &R::worse}, Field{"better", &R::better}, Field{"chance", &R::chance}};
};

template <>
struct Fields<HiddenNonfinite> {
  using R = HiddenNonfinite;
  static constexpr auto list =
      std::tuple{Field{"layers", &R::layers}, Field{"first", &R::first}, Field{"op_type", &R::op_type}};
};

template <>
struct Fields<RunFigures> {
  static constexpr bool (*hides)(const RunFigures&) = [](const RunFigures& run) {
    return run.nonfinite_inside.has_value();
  };
  static constexpr auto list =
      std::tuple{Field{"outputs", &RunFigures::outputs}, Field{"passed", &RunFigures::passed},
                 Field{"damage", &RunFigures::damage}, Field{"nonfinite_inside", &RunFigures::nonfinite_inside, hides}};
};

template <>
struct Fields<OtherSums> {
  static constexpr auto list =
      std::tuple{Field{"accumulate", &OtherSums::accumulate}, Field{"figures", &OtherSums::figures}};
};

template <>
struct Fields<SaturatedPairs::Layer> {
  using R = SaturatedPairs::Layer;
  static constexpr auto list =
      std::tuple{Field{"name", &R::name},   Field{"op_type", &R::op_type},     Field{"data", &R::data},
                 Field{"pairs", &R::pairs}, Field{"saturated", &R::saturated}, Field{"share", &R::share}};
};

template <>
struct Fields<SaturatedPairs> {
  using R = SaturatedPairs;
  static constexpr auto list = std::tuple{Field{"runtime", &R::runtime}, Field{"layers", &R::layers},
                                          Field{"figures", &R::figures}, Field{"reduced", &R::reduced}};
};

template <>
struct Fields<NotSimulated> {
  using R = NotSimulated;
  static constexpr auto list =
      std::tuple{Field{"engine", &R::engine}, Field{"nodes", &R::nodes}, Field{"first", &R::first},
                 Prose{"why", &R::why},       Prose{"cure", &R::cure},   Field{"refused", &R::refused}};
};

template <>
struct Fields<LayerRow> {
  // Counts of a layer that was not looked at are not zero: they are absent.
  static constexpr bool (*counted)(const LayerRow&) = [](const LayerRow& row) { return row.values > 0; };
  static constexpr bool (*scaled)(const LayerRow&) = [](const LayerRow& row) { return row.stored_times.has_value(); };
  static constexpr auto list =
      std::tuple{Field{"name", &LayerRow::name},
                 Field{"op_type", &LayerRow::op_type},
                 Field{"graph", &LayerRow::graph},
                 Field{"format", &LayerRow::format},
                 Field{"own_sqnr_db", &LayerRow::own_sqnr_db},
                 Field{"sqnr_db", &LayerRow::sqnr_db, nullptr, "propagated_sqnr_db"},
                 Field{"stored_times", &LayerRow::stored_times, scaled},
                 Field{"propagated_db", &LayerRow::propagated_db, nullptr, "inherited_sqnr_db"},
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
struct Fields<PhaseTime> {
  static constexpr auto list = std::tuple{Field{"phase", &PhaseTime::phase}, Field{"seconds", &PhaseTime::seconds}};
};

template <>
struct Fields<Limit> {
  static constexpr auto list = std::tuple{Field{"value", &Limit::value}, Field{"output", &Limit::output}};
};

template <>
struct Fields<Requirement> {
  static constexpr bool (*with_room)(const Requirement&) = [](const Requirement& requirement) {
    return requirement.margin_db > 0;
  };
  static constexpr bool (*sure)(const Requirement&) = [](const Requirement& requirement) {
    return requirement.confidence != 0.5;
  };
  static constexpr auto list = std::tuple{Field{"metric", &Requirement::metric}, Field{"limits", &Requirement::limits},
                                          Field{"margin_db", &Requirement::margin_db, with_room},
                                          Field{"confidence", &Requirement::confidence, sure}};
};

template <>
struct Fields<EngineFigures::Layer> {
  using R = EngineFigures::Layer;
  static constexpr auto list = std::tuple{Field{"name", &R::name}, Field{"sqnr_db", &R::sqnr_db}};
};

template <>
struct Fields<EngineFigures::OtherFormat> {
  using R = EngineFigures::OtherFormat;
  static constexpr auto list =
      std::tuple{Field{"runs_in", &R::runs_in}, Field{"asked", &R::asked}, Field{"layers", &R::layers}};
};

template <>
struct Fields<EngineFigures> {
  using R = EngineFigures;
  static constexpr bool (*changes)(const R&) = [](const R& engine) { return !engine.changed_formats.empty(); };
  static constexpr auto list = std::tuple{
      Field{"engine", &R::engine},
      Field{"figures", &R::figures},
      Field{"kernels", &R::kernels},
      Field{"changed_formats", &R::changed_formats, changes},
      Prose{"other_formats", &R::other_formats},
      Field{"layers", &R::layers},
      Prose{"no_layers", &R::no_layers},
  };
};

}  // namespace vernier
