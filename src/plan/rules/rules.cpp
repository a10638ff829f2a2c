#include "plan/rules/rules.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "plan/normalized_file.h"
#include "plan/rules/tensorrt_refusals.h"

namespace vernier {

std::span<const PlacementRule> placement_rules(Target target) {
  switch (target) {
    case Target::TensorRt:
      return tensorrt_rules();
    case Target::OnnxRuntime:
      return onnxruntime_rules();
    case Target::OpenVino:
      break;
  }
  return openvino_rules();
}

std::vector<PlacementFinding> apply_rules(const QdqGraph& graph, Target target) {
  std::vector<PlacementFinding> findings;
  for (const onnx::NodeProto& node : graph.graph().node()) {
    for (const PlacementRule& rule : placement_rules(target)) {
      const std::size_t before = findings.size();
      rule.look_at(graph, node, findings);
      for (std::size_t i = before; i < findings.size(); ++i) {
        findings[i].rule = rule.name;
        findings[i].compiled = rule.compiled;
        findings[i].costs_nothing = findings[i].costs_nothing || rule.costs_nothing;
        if (findings[i].node.empty()) findings[i].node = node.name();
      }
    }
  }
  return findings;
}

namespace {

std::vector<PlacementFinding> openvino_findings(const Model& typed) {
  const Model file = normalized_file(typed);
  std::vector<PlacementFinding> findings;
  for (const QdqGraph& graph : QdqGraph::all_of(file)) {
    for (PlacementFinding& finding : apply_rules(graph, Target::OpenVino)) {
      if (finding.computes_otherwise) findings.push_back(std::move(finding));
    }
  }
  return findings;
}

}  // namespace

std::optional<NotSimulated> not_simulated(const Model& typed, Target target) {
  std::vector<PlacementFinding> findings;
  if (target == Target::TensorRt) findings = tensorrt_refusals(typed);
  if (target == Target::OpenVino) findings = openvino_findings(typed);
  if (findings.empty()) return std::nullopt;
  const bool refused = std::ranges::any_of(findings, &PlacementFinding::refused);
  if (refused) std::erase_if(findings, [](const PlacementFinding& finding) { return !finding.refused; });
  const PlacementFinding& first = findings.front();
  return NotSimulated{target, findings.size(), first.node, first.why, first.change, refused};
}

Note computes_otherwise_note(const NotSimulated& nodes) {
  Note note = nodes.refused ? Note{"engine-refuses-nodes", {}} : Note{"engine-computes-otherwise", {}};
  note.fields = {{"engine", nodes.engine_name()},
                 {"nodes", nodes.nodes},
                 {"first", nodes.first},
                 {"why", nodes.why},
                 {"cure", nodes.cure}};
  return note;
}

}  // namespace vernier
