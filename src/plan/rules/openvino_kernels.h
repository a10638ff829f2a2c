// Places that OpenVINO 2026.4 takes into one kernel, which then returns something else
// (docs/records/truth-openvino.md). Measured on CPUs with VNNI and without AMX.
#pragma once

#include <string>
#include <vector>

#include "plan/rules/qdq_graph.h"
#include "vernier/report/check_placement.h"

namespace vernier {

/// A finding after which the figures of the simulation are not those of the engine.
void computes_otherwise(std::vector<PlacementFinding>& findings, std::string why, std::string change);

/// Two quantized products of small matrices with anything but one bias for each channel and one operator between.
void scale_behind_product(const QdqGraph& graph, const onnx::NodeProto& node, std::vector<PlacementFinding>& findings);

/// Attention with as many heads as rows.
void heads_taken_for_rows(const QdqGraph& graph, const onnx::NodeProto& node, std::vector<PlacementFinding>& findings);

}  // namespace vernier
