// Placement rules of engines (reference: their documentation; ONNX Runtime's were checked against its optimized graph).
// A rule is one function that looks at one node; a target is a list of rules. Another rule is a function and a line in
// its target's table.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "model/model.h"
#include "plan/rules/qdq_graph.h"
#include "vernier/note.h"
#include "vernier/report/check_placement.h"
#include "vernier/report/figures.h"
#include "vernier/target.h"

namespace vernier {

/// Of places that ONNX Runtime makes a kernel of, and then refuses to run.
inline constexpr std::string_view kRefusedToRun = "refused-to-run";
/// Of weights that ONNX Runtime dequantizes in every run.
inline constexpr std::string_view kExpandedWeight = "weight-expanded";

struct PlacementRule {
  std::string_view name;
  /// Adds what it finds at `node`; the rest of a finding is filled in by the caller.
  void (*look_at)(const QdqGraph& graph, const onnx::NodeProto& node, std::vector<PlacementFinding>& findings);
  /// What TensorRT-RTX 1.7.1 makes of such a place, for compute capability 8.9; tests/engines/test_placement.py
  /// compiles it both ways. Empty: not compiled.
  std::string_view compiled = {};
  /// By what was compiled, another placement saves no kernel.
  bool costs_nothing = false;
};

std::span<const PlacementRule> placement_rules(Target target);

/// All findings of the target's rules, in graph order.
std::vector<PlacementFinding> apply_rules(const QdqGraph& graph, Target target);

/// What OpenVINO computes otherwise than `typed` says, and what it and TensorRT-RTX refuse, by their rules; nullopt:
/// nothing that is known. What TensorRT computes otherwise is part of the simulation, and ONNX Runtime runs the file.
std::optional<NotSimulated> not_simulated(const Model& typed, Target target);
Note computes_otherwise_note(const NotSimulated& nodes);

std::span<const PlacementRule> tensorrt_rules();
std::span<const PlacementRule> onnxruntime_rules();
std::span<const PlacementRule> openvino_rules();

}  // namespace vernier
