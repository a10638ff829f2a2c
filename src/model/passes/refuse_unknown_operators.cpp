#include <fmt/format.h>
#include <onnx/defs/schema.h>

#include "base/text.h"
#include "model/operator_traits.h"
#include "model/passes/pass.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier::passes {

Outcome refuse_unknown_operators(Model& model, const Context& /*context*/) {
  const int opset = default_opset(model.proto);
  for_each_graph(model.proto.graph(), [&](const onnx::GraphProto& graph) {
    for (const onnx::NodeProto& node : graph.node()) {
      if (!of_onnx(node)) continue;
      if (onnx::OpSchemaRegistry::Schema(node.op_type(), opset, "") != nullptr) continue;
      throw Error(ErrorCode::UnknownOperator,
                  fmt::format("node '{}': ONNX has no operator '{}' in opset {}", printable(node.name()),
                              printable(node.op_type()), opset),
                  "an operator of your own needs a domain of its own, and the opset import of that domain");
    }
  });
  return {};
}

}  // namespace vernier::passes
