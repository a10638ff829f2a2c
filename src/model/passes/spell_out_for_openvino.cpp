#include <cstdint>

#include "model/graph_edit.h"
#include "model/openvino_reader.h"
#include "model/passes/pass.h"

namespace vernier::passes {

Outcome spell_out_for_openvino(Model& model, const Context& /*context*/) {
  std::int64_t written = 0;
  for_each_graph(*model.proto.mutable_graph(), [&](onnx::GraphProto& graph) {
    for (onnx::NodeProto& node : *graph.mutable_node()) {
      if (!lacks_attribute_for_openvino(node)) continue;
      set_attribute(node, "sampling_ratio", std::int64_t{0});
      ++written;
    }
  });
  if (written == 0) return {};
  return {.notes = {{"sampling-ratio-written", {{"nodes", written}}}}};
}

}  // namespace vernier::passes
