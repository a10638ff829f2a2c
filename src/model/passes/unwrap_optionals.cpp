#include <fmt/format.h>

#include <cstddef>
#include <map>
#include <string>

#include "base/text.h"
#include "model/graph_edit.h"
#include "model/operator_traits.h"
#include "model/passes/pass.h"
#include "vernier/tensor.h"

namespace vernier::passes {
namespace {

void make_true(onnx::NodeProto& node) {
  Tensor yes(Dtype::Bool, {});
  yes.mutable_bytes()[0] = std::byte{1};
  node.set_op_type("Constant");
  node.clear_input();
  node.clear_attribute();
  onnx::AttributeProto& value = *node.add_attribute();
  value.set_name("value");
  value.set_type(onnx::AttributeProto::TENSOR);
  *value.mutable_t() = proto_of(yes, node.output(0));
}

}  // namespace

Outcome unwrap_optionals(Model& model, const Context&) {
  std::map<std::string, std::string> wrapped;  // an optional, and what is in it
  for_each_graph(model.proto.graph(), [&](const onnx::GraphProto& graph) {
    for (const onnx::NodeProto& node : graph.node()) {
      if (!is_onnx(node, "Optional") || node.input_size() != 1 || node.input(0).empty()) continue;
      wrapped.emplace(node.output(0), node.input(0));
    }
  });
  if (wrapped.empty()) return {};
  for_each_graph(*model.proto.mutable_graph(), [&](onnx::GraphProto& graph) {
    for (onnx::NodeProto& node : *graph.mutable_node()) {
      if (node.input_size() != 1) continue;
      const auto value = wrapped.find(node.input(0));
      if (value == wrapped.end()) continue;
      if (is_onnx(node, "OptionalHasElement")) make_true(node);
      if (!is_onnx(node, "OptionalGetElement")) continue;
      node.set_op_type("Identity");
      node.set_input(0, value->second);
    }
  });
  const std::map<std::string, int> readers = count_readers(model);
  std::size_t removed = 0;
  for_each_graph(*model.proto.mutable_graph(), [&](onnx::GraphProto& graph) {
    remove_nodes(graph, [&](const onnx::NodeProto& node) {
      const bool idle =
          is_onnx(node, "Optional") && wrapped.contains(node.output(0)) && !readers.contains(node.output(0));
      removed += idle ? 1 : 0;
      return idle;
    });
  });
  if (removed == 0) return {};
  return {.notes = {{"optionals-removed", {{"count", removed}}}}};
}

}  // namespace vernier::passes
