#include "report/text/minimum_text.h"

#include <fmt/format.h>

#include <string>

#include "report/export/pareto.h"
#include "vernier/report/kept_set.h"

namespace vernier {
namespace {

std::string bound_text(const KeptSetReport& kept, double bound) {
  const double lowest = kept.ladder ? kept.ladder->cost_of_lowest : 0;
  const std::string cost = fmt::format("{:.4g} {}", lowest + kept.cost, cost_unit_text(kept));
  constexpr double kRounding = 1e-9;
  return kept.cost - bound <= kRounding * kept.cost
             ? fmt::format("no set that passes costs less than {}", cost)
             : fmt::format("no set that passes costs less than {:.4g} of its {}", lowest + bound, cost);
}

/// Nothing where the search had no set to compare with.
std::string why_no_bound(SearchEnd end) {
  switch (end) {
    case SearchEnd::NothingNeeded:
    case SearchEnd::Impossible:
      return {};
    case SearchEnd::Stopped:
      return "the search ended first";
    case SearchEnd::Unstable:
      return "the same test gave different answers";
    case SearchEnd::Certified:
    case SearchEnd::Found:
      break;
  }
  return "a set failed although a part of it passed, so no bound holds";
}

}  // namespace

std::string minimum_text(const DiagnoseReport& report) {
  const KeptSetReport& kept = *report.kept;
  if (kept.lower_bound) {
    return bound_text(kept, *kept.lower_bound) + ", if keeping more layers never makes a passing set fail";
  }
  if (!kept.minimum_asked || kept.layers.empty()) return {};
  const std::string why = why_no_bound(kept.end);
  return why.empty() ? why : "another set may be cheaper, and --prove-minimum found no bound: " + why;
}

}  // namespace vernier
