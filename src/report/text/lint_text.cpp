#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "base/layout.h"
#include "base/text.h"
#include "report/told.h"
#include "vernier/report/lint.h"
#include "vernier/report/text.h"

namespace vernier {

std::string report_to_text(const LintReport& report, const TextOptions& options) {
  std::string text;
  for (const LintEntry& entry : report.entries) {
    std::vector<std::string> names;
    for (const std::string& name : entry.nodes) names.push_back(printable(name));
    text += painted(fmt::format("{} | {}{}: {}\n", entry.error ? "error  " : "warning", entry.source,
                                names.empty() ? "" : " | node " + list_some(names), told(entry.message)),
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
