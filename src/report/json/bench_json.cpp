// The report of `vernier bench` as JSON.
#include <cstddef>
#include <optional>
#include <string>
#include <tuple>

#include "report/json/document.h"
#include "vernier/report/bench.h"
#include "vernier/report/note_text.h"

namespace vernier {

template <>
struct Fields<Latency> {
  using R = Latency;
  static constexpr auto list = std::tuple{Field{"median_ms", &R::median}, Field{"p10_ms", &R::p10},
                                          Field{"p90_ms", &R::p90}, Field{"percentiles_ms", &R::percentiles}};
};

template <>
struct Fields<TimeRatio> {
  using R = TimeRatio;
  static constexpr auto list = std::tuple{Field{"ratio", &R::ratio}, Field{"low", &R::low}, Field{"high", &R::high}};
};

template <>
struct Fields<BenchLayer> {
  using R = BenchLayer;
  static constexpr auto list = std::tuple{Field{"kernel", &R::kernel}, Field{"kind", &R::kind},
                                          Field{"layers", &R::layers}, Field{"median_ms", &R::ms}};
};

template <>
struct Fields<BenchRow> {
  using R = BenchRow;
  static constexpr bool (*was_profiled)(const R&) = [](const R& row) { return row.profiled > 0; };
  static std::string clock(const R& row) { return row.device_clock ? "device" : "wall"; }
  static std::optional<std::size_t> kernels(const R& row) {
    return row.built ? std::optional(row.built->kernels.size()) : std::nullopt;
  }
  static constexpr auto list = std::tuple{Field{"model", &R::model},
                                          Field{"sha256", &R::sha256},
                                          Field{"runner", &R::runner},
                                          Field{"engine", &R::engine},
                                          Field{"formats", &R::formats},
                                          Field{"batch", &R::batch},
                                          Field{"threads", &R::threads},
                                          Field{"cuda_graph", &R::cuda_graph},
                                          Derived{"clock", clock},
                                          Field{"latency", &R::latency},
                                          Field{"with_copies_median_ms", &R::with_copies_ms},
                                          Field{"samples_per_second", &R::samples_per_second},
                                          Field{"of_first", &R::ratio},
                                          Field{"iterations", &R::iterations},
                                          Field{"rounds", &R::rounds},
                                          Field{"build_seconds", &R::build_seconds},
                                          Derived{"kernels", kernels},
                                          Field{"layers", &R::layers, was_profiled},
                                          Field{"layers_runs", &R::profiled, was_profiled}};
};

template <>
struct Fields<BenchReport> {
  using R = BenchReport;
  static constexpr auto list = std::tuple{Field{"version", &R::version},
                                          Field{"command", &R::command},
                                          Field{"vernier_version", &R::vernier_version},
                                          Field{"machine", &R::machine},
                                          Field{"date", &R::date},
                                          Field{"data", &R::data},
                                          Field{"random_data", &R::random_data},
                                          Field{"warm_up_ms", &R::warm_up_ms},
                                          Field{"rows", &R::rows},
                                          Remarks{"warnings", "warning_codes", &R::warnings, note_texts},
                                          Remarks{"notes", "note_codes", &R::notes, note_texts}};
};

std::string report_to_json(const BenchReport& report) { return to_document(ReportKind::Bench, report); }

}  // namespace vernier
