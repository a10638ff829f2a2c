// `vernier inspect capability` as text.
#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <vector>

#include "base/layout.h"
#include "base/text.h"
#include "report/text/sections.h"
#include "report/told.h"
#include "vernier/report/capability.h"
#include "vernier/report/text.h"

namespace vernier {
namespace {

constexpr std::size_t kMostParts = 20;

std::string groups_text(const std::vector<CapabilityGroup>& groups, const TextOptions& options) {
  std::string text;
  for (const CapabilityGroup& group : groups) {
    std::vector<std::string> names;
    for (const std::string& node : group.nodes) names.push_back(printable(node));
    text += wrap(fmt::format("{} ({})", told(group.why), list_some(names, 3)), options.width,
                 fmt::format("  {} {}: ", group.nodes.size(), printable(group.op_type)));
  }
  return text;
}

}  // namespace

std::string report_to_text(const CapabilityReport& report, const TextOptions& options) {
  const bool all = report.taken == report.nodes;
  const std::string inside =
      report.inner_nodes == 0
          ? ""
          : fmt::format(" ({} more inside of If, Loop and Scan count with these)", report.inner_nodes);
  const std::string answer =
      all ? fmt::format("{} accepts {}.", report.engine, "all " + plural(report.nodes, "node") + inside)
          : fmt::format("{} accepts {} of {}{}.", report.engine, report.taken, plural(report.nodes, "node"), inside);
  std::string text = painted(wrap(answer, options.width), all ? Paint::Good : Paint::Bad, options.color) + "\n";
  text += labelled("Model", printable(report.file), options.width);
  text += labelled("Evidence", report.evidence, options.width);
  text += labelled("Source", printable(report.source), options.width);
  if (!report.refused.empty()) text += "\nnot taken\n" + groups_text(report.refused, options);
  if (!report.conditions.empty())
    text += "\ntaken, as far as the file shows\n" + groups_text(report.conditions, options);
  text += remarks({}, {report.differences.begin(), report.differences.end()}, options);
  if (all) return text;
  text += fmt::format("\n{}\n", plural(report.parts.size(), "part"));
  for (std::size_t i = 0; i < report.parts.size() && (options.top == 0 || i < kMostParts); ++i) {
    const CapabilityPart& part = report.parts[i];
    text += wrap(fmt::format("{}, {} to {}{}", plural(part.nodes.size(), "node"), printable(part.nodes.front()),
                             printable(part.nodes.back()), part.file.empty() ? "" : ": " + printable(part.file)),
                 options.width, part.taken ? "  taken      " : "  not taken  ");
  }
  if (options.top != 0 && report.parts.size() > kMostParts) {
    text += fmt::format("  and {} more (--json lists all)\n", report.parts.size() - kMostParts);
  }
  return text;
}

}  // namespace vernier
