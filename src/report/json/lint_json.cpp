// What `vernier check lint` found as JSON: the peer's document, without a kind and a version of ours.
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/text.h"
#include "json/fields.h"
#include "json/python_json.h"
#include "report/told.h"
#include "vernier/report/lint.h"

namespace vernier {
namespace {

std::vector<std::string> all_shown(const std::vector<std::string>& names) {
  std::vector<std::string> safe;
  for (const std::string& name : names) safe.push_back(printable(name));
  return safe;
}

struct LintSummary {
  std::vector<std::string> passing, failing;
};

}  // namespace

template <>
struct Fields<LintSummary> {
  static constexpr auto list =
      std::tuple{Field{"passing", &LintSummary::passing}, Field{"failing", &LintSummary::failing}};
};

template <>
struct Fields<LintEntry> {
  using R = LintEntry;
  static std::optional<std::vector<std::string>> nodes(const R& entry) {
    if (entry.nodes.empty()) return std::nullopt;
    return all_shown(entry.nodes);
  }
  /// As the peer cuts it out of what the runtime says.
  static std::string message(const R& entry) { return (entry.inferred ? " " : "") + told(entry.message); }
  static constexpr auto list =
      std::tuple{Derived{"level", [](const R& entry) { return entry.error ? "exception" : "warning"; }},
                 Field{"source", &R::source}, Derived{"message", message}, Derived{"nodes", nodes}};
};

template <>
struct Fields<LintReport> {
  using R = LintReport;
  static LintSummary summary(const R& report) { return {all_shown(report.passing), all_shown(report.failing)}; }
  static constexpr auto list = std::tuple{Derived{"summary", summary}, Field{"lint_entries", &R::entries}};
};

std::string report_to_json(const LintReport& report) { return python_json(json_of(report)); }

}  // namespace vernier
