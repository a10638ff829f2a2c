#include "engines/onnxruntime/aborting_nodes.h"

#include <fmt/format.h>

#include "base/text.h"
#include "model/operator_traits.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {

void refuse_aborting_nodes(const Model& model) {
  for_each_graph(model.proto.graph(), [](const onnx::GraphProto& graph) {
    for (const onnx::NodeProto& node : graph.node()) {
      if (!of_onnx(node) || !has(node, Trait::Random)) continue;
      const float scale = attribute_float(node, "scale", 1);
      const float low = attribute_float(node, "low", 0), high = attribute_float(node, "high", 1);
      const bool normal = node.op_type().starts_with("RandomNormal") && !(scale > 0);
      const bool uniform = node.op_type().starts_with("RandomUniform") && !(low <= high);
      if (!normal && !uniform) continue;
      throw Error(ErrorCode::RuntimeFails,
                  normal ? fmt::format("node '{}': {} has a scale of {:g}, at which ONNX Runtime aborts",
                                       printable(node.name()), node.op_type(), scale)
                         : fmt::format("node '{}': {} draws from {:g} to {:g}, at which ONNX Runtime aborts",
                                       printable(node.name()), node.op_type(), low, high),
                  "replace the node by a constant");
    }
  });
}

}  // namespace vernier
