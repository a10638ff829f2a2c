// The report of `vernier check placement` as JSON.
#include <cstddef>
#include <optional>
#include <string>
#include <tuple>

#include "report/json/document.h"
#include "report/json/fields_engine.h"
#include "vernier/report/check_placement.h"
#include "vernier/report/note_text.h"

namespace vernier {
namespace {

/// What is left in the optimized graph.
struct LeftInGraph {
  std::size_t quantizers = 0, dequantizers = 0, integer_kernels = 0;
};

}  // namespace

template <>
struct Fields<LeftInGraph> {
  using R = LeftInGraph;
  static constexpr auto list = std::tuple{Field{"quantizers", &R::quantizers}, Field{"dequantizers", &R::dequantizers},
                                          Field{"integer_kernels", &R::integer_kernels}};
};

template <>
struct Fields<PlacementFinding> {
  using R = PlacementFinding;
  static constexpr bool (*free_of_cost)(const R&) = [](const R& finding) { return finding.costs_nothing; };
  static constexpr auto list =
      std::tuple{Field{"rule", &R::rule},         Field{"node", &R::node},
                 Prose{"why", &R::why},           Prose{"change", &R::change},
                 Field{"compiled", &R::compiled}, Field{"costs_nothing", &R::costs_nothing, free_of_cost}};
};

template <>
struct Fields<CheckPlacementReport> {
  using R = CheckPlacementReport;
  static constexpr bool (*noted)(const R&) = [](const R& report) { return !report.notes.empty(); };
  static std::string evidence(const R& report) { return report.ran ? "optimized graph" : "documented, not run"; }
  static std::optional<LeftInGraph> left(const R& report) {
    if (!report.ran) return std::nullopt;
    return LeftInGraph{report.quantizers_left, report.dequantizers_left, report.integer_kernels};
  }
  static constexpr auto list = std::tuple{Field{"version", &R::version},
                                          Field{"file", &R::file},
                                          Field{"target", &R::target},
                                          Derived{"evidence", evidence},
                                          Field{"quantizers", &R::quantizers},
                                          Field{"dequantizers", &R::dequantizers},
                                          Field{"stored_constants", &R::stored_constants},
                                          Field{"findings", &R::findings},
                                          Derived{"left", left},
                                          Field{"compiled", &R::compiled},
                                          Remarks{"notes", "note_codes", &R::notes, note_texts, noted}};
};

std::string report_to_json(const CheckPlacementReport& report) {
  return to_document(ReportKind::CheckPlacement, report);
}

}  // namespace vernier
