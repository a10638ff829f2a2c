// What OpenVINO's ONNX reader takes for something else, and what it refuses. Measured with 2026.4 against ONNX Runtime:
// tests/engines/test_openvino_reader.py.
#pragma once

#include <vector>

#include "plan/rules/qdq_graph.h"
#include "vernier/report/check_placement.h"

namespace vernier {

void reads_otherwise(const QdqGraph& graph, const onnx::NodeProto& node, std::vector<PlacementFinding>& findings);
void refuses_to_read(const QdqGraph& graph, const onnx::NodeProto& node, std::vector<PlacementFinding>& findings);

}  // namespace vernier
