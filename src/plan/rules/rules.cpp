#include "plan/rules/rules.h"

#include <cstddef>

namespace vernier {

std::span<const PlacementRule> placement_rules(std::string_view target) {
  if (target == "tensorrt") return tensorrt_rules();
  if (target == "onnxruntime") return onnxruntime_rules();
  if (target == "openvino") return openvino_rules();
  return {};
}

std::vector<PlacementFinding> apply_rules(const QdqGraph& graph, std::string_view target) {
  std::vector<PlacementFinding> findings;
  for (const onnx::NodeProto& node : graph.graph().node()) {
    for (const PlacementRule& rule : placement_rules(target)) {
      const std::size_t before = findings.size();
      rule.look_at(graph, node, findings);
      for (std::size_t i = before; i < findings.size(); ++i) {
        findings[i].rule = rule.name;
        if (findings[i].node.empty()) findings[i].node = node.name();
      }
    }
  }
  return findings;
}

}  // namespace vernier
