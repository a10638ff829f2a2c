#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/layout.h"
#include "base/text.h"
#include "json/python_json.h"
#include "vernier/report/lint.h"
#include "vernier/report/text.h"

namespace vernier {

std::string report_to_json(const LintReport& report) {
  nlohmann::ordered_json entries = nlohmann::ordered_json::array();
  const auto safe = [](const std::vector<std::string>& names) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const std::string& name : names) list.push_back(shown(name));
    return list;
  };
  for (const LintEntry& entry : report.entries) {
    nlohmann::ordered_json json = {
        {"level", entry.error ? "exception" : "warning"}, {"source", entry.source}, {"message", shown(entry.message)}};
    if (!entry.nodes.empty()) json["nodes"] = safe(entry.nodes);
    entries.push_back(std::move(json));
  }
  return python_json(
      {{"summary", {{"passing", safe(report.passing)}, {"failing", safe(report.failing)}}}, {"lint_entries", entries}});
}

std::string report_to_text(const LintReport& report, const TextOptions& options) {
  std::string text;
  for (const LintEntry& entry : report.entries) {
    std::vector<std::string> names;
    for (const std::string& name : entry.nodes) names.push_back(shown(name));
    text += painted(fmt::format("{} | {}{}: {}\n", entry.error ? "error  " : "warning", entry.source,
                                names.empty() ? "" : " | node " + list_some(names), shown(entry.message)),
                    entry.error ? Paint::Bad : Paint::Warning, options.color);
  }
  const auto errors = static_cast<std::size_t>(
      std::count_if(report.entries.begin(), report.entries.end(), [](const LintEntry& entry) { return entry.error; }));
  return text + painted(fmt::format("{} | {}, {}; {} passed, {} failed\n", report.passed ? "PASSED" : "FAILED",
                                    plural(errors, "error"), plural(report.entries.size() - errors, "warning"),
                                    plural(report.passing.size(), "node"), report.failing.size()),
                        report.passed ? Paint::Good : Paint::Bad, options.color);
}

}  // namespace vernier
