#include "jobs/common/lint_log.h"

namespace vernier {

LintReport LintLog::report(const onnx::GraphProto& graph, const std::optional<std::set<std::string>>& reached) && {
  std::set<std::string> failing;
  for (const LintEntry& entry : report_.entries) {
    if (!entry.error) continue;
    report_.passed = false;
    failing.insert(entry.nodes.begin(), entry.nodes.end());
  }
  std::set<std::string> seen;
  for (const onnx::NodeProto& node : graph.node()) {
    const std::string name = name_of(node);
    if (!seen.insert(name).second) continue;
    if (failing.contains(name)) {
      report_.failing.push_back(name);
    } else if (!reached || reached->contains(name)) {
      report_.passing.push_back(name);
    }
  }
  return std::move(report_);
}

}  // namespace vernier
