// Keys of what a search found and tested (json/field.h).
#pragma once

#include <tuple>

#include "json/fields.h"
#include "vernier/report/kept_set.h"
#include "vernier/report/note_text.h"

namespace vernier {

/// Rows of earlier versions, and those of outside checks, know of no samples.
template <class Row>
constexpr bool counts_samples(const Row& row) {
  return row.samples > 0;
}

template <>
struct Fields<CertificateRow> {
  static constexpr bool (*names_output)(const CertificateRow&) = [](const CertificateRow& row) {
    return !row.output.empty();
  };
  static constexpr bool (*bounded)(const CertificateRow&) = [](const CertificateRow& row) {
    return row.on_samples.has_value();
  };
  static constexpr bool (*on_ladder)(const CertificateRow&) = [](const CertificateRow& row) {
    return row.lowered_to.has_value();
  };
  static constexpr auto list =
      std::tuple{Field{"layer", &CertificateRow::layer},
                 Field{"metric", &CertificateRow::metric},
                 Field{"damage", &CertificateRow::damage},
                 Field{"lower_bound", &CertificateRow::lower_bound},
                 Field{"samples", &CertificateRow::samples, counts_samples<CertificateRow>},
                 Field{"confidence", &CertificateRow::confidence, counts_samples<CertificateRow>},
                 Field{"output", &CertificateRow::output, names_output},
                 Field{"lowered_to", &CertificateRow::lowered_to, on_ladder},
                 Field{"on_samples", &CertificateRow::on_samples, bounded}};
};

template <>
struct Fields<RungReport> {
  using R = RungReport;
  static constexpr auto list =
      std::tuple{Field{"format", &R::format}, Field{"layers", &R::layers}, Field{"macs", &R::macs}};
};

template <>
struct Fields<RaisedLayer> {
  using R = RaisedLayer;
  static constexpr auto list = std::tuple{Field{"layer", &R::layer}, Field{"format", &R::format}};
};

template <>
struct Fields<LadderReport> {
  using R = LadderReport;
  static constexpr auto list =
      std::tuple{Field{"rungs", &R::rungs}, Field{"raised", &R::raised}, Field{"cost_of_lowest", &R::cost_of_lowest}};
};

template <>
struct Fields<LayerGroup> {
  using R = LayerGroup;
  static constexpr auto list = std::tuple{Field{"layers", &R::layers}, Prose{"why", &R::why}, Field{"kept", &R::kept}};
};

template <>
struct Fields<RankingReport> {
  using R = RankingReport;
  static constexpr auto list = std::tuple{Field{"ratio", &R::ratio}, Field{"rank_correlation", &R::rank_correlation},
                                          Field{"compared", &R::compared}, Field{"mended", &R::mended}};
};

template <class R>
constexpr bool of_ladder(const R& row) {
  return !row.raised_to.empty();
}

template <>
struct Fields<TestRow> {
  using R = TestRow;
  static constexpr bool (*bounded)(const R&) = [](const R& row) { return row.on_samples.has_value(); };
  static constexpr auto list = std::tuple{Field{"layers", &R::layers},
                                          Field{"raised_to", &R::raised_to, of_ladder<R>},
                                          Field{"verdict", &R::verdict},
                                          Field{"metric", &R::metric},
                                          Field{"damage", &R::damage},
                                          Field{"lower_bound", &R::lower_bound},
                                          Prose{"needs", &R::needs},
                                          Field{"samples", &R::samples, counts_samples<R>},
                                          Field{"confidence", &R::confidence, counts_samples<R>},
                                          Field{"metric_95_percent", &R::interval},
                                          Field{"reference_metric", &R::reference},
                                          Field{"limit", &R::limit},
                                          Field{"on_samples", &R::on_samples, bounded}};
};

template <>
struct Fields<ParetoPoint> {
  using R = ParetoPoint;
  static constexpr auto list = std::tuple{Field{"layers", &R::layers}, Field{"raised_to", &R::raised_to, of_ladder<R>},
                                          Field{"cost", &R::cost},     Field{"metric", &R::metric},
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
  static constexpr bool (*grouped)(const R&) = [](const R& kept) { return !kept.groups.empty(); };
  static constexpr bool (*counted)(const R&) = [](const R& kept) { return kept.sample_inferences > 0; };
  static constexpr bool (*journalled)(const R&) = [](const R& kept) { return !kept.journal.empty(); };
  static constexpr bool (*tightened)(const R&) = [](const R& kept) { return kept.room > 1; };
  static constexpr bool (*traded)(const R&) = [](const R& kept) { return !kept.pareto.empty(); };
  static constexpr bool (*by_golden)(const R&) = [](const R& kept) { return kept.golden; };
  static constexpr bool (*went_on)(const R&) = [](const R& kept) { return kept.resumed; };
  static constexpr bool (*bounded)(const R&) = [](const R& kept) { return kept.minimum_asked; };
  static constexpr bool (*spares)(const R&) = [](const R& kept) { return kept.not_cheaper > 0; };
  static constexpr bool (*on_ladder)(const R&) = [](const R& kept) { return kept.ladder.has_value(); };
  static constexpr auto list = std::tuple{Field{"layers", &R::layers},
                                          Field{"ladder", &R::ladder, on_ladder},
                                          Field{"mode", &R::mode, optional_field<R>},
                                          Field{"direction", &R::direction, optional_field<R>},
                                          Field{"end", &R::end},
                                          Field{"decided_by", &R::decided_by, optional_field<R>},
                                          Field{"golden", &R::golden, by_golden},
                                          Prose{"objective", &R::objective, optional_field<R>},
                                          Field{"minimum_asked", &R::minimum_asked, bounded},
                                          Field{"certified", &R::certified},
                                          Field{"certificate", &R::certificate},
                                          Field{"metric", &R::metric},
                                          Field{"evaluations", &R::evaluations},
                                          Field{"journal", &R::journal, journalled},
                                          Field{"recalled", &R::recalled, optional_field<R>},
                                          Field{"resumed", &R::resumed, went_on},
                                          Field{"kept_macs", &R::kept_macs},
                                          Field{"total_macs", &R::total_macs},
                                          Field{"cost_unit", &R::cost_unit, optional_field<R>},
                                          Field{"cost", &R::cost, optional_field<R>},
                                          Field{"room", &R::room, tightened},
                                          Field{"cost_of_all", &R::cost_of_all},
                                          Field{"lower_bound", &R::lower_bound},
                                          Field{"groups", &R::groups, grouped},
                                          Field{"ranking", &R::ranking},
                                          Field{"sample_inferences", &R::sample_inferences, counted},
                                          Prose{"assumed", &R::assumed, optional_field<R>},
                                          Field{"not_cheaper", &R::not_cheaper, spares},
                                          Prose{"proven", &R::proven, optional_field<R>},
                                          Field{"tests", &R::tests, optional_field<R>},
                                          Field{"minimal", &R::minimal},
                                          Field{"file_test", &R::file_test},
                                          Field{"engine_test", &R::engine_test},
                                          Field{"pareto", &R::pareto, traded},
                                          Remarks{"notes", "note_codes", &R::notes, note_texts}};
};

}  // namespace vernier
