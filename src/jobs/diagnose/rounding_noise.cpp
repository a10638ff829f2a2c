#include "jobs/diagnose/rounding_noise.h"

#include <map>
#include <string>

#include "model/graph_edit.h"
#include "model/operator_traits.h"
#include "vernier/tensor.h"

namespace vernier {

Model with_rounding_noise(const Model& model) {
  Model noisy = model;
  onnx::GraphProto& graph = *noisy.proto.mutable_graph();
  NamePool names(noisy);
  const std::map<std::string, ValueType> types = infer_types(model);
  google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
  for (const onnx::NodeProto& node : model.proto.graph().node()) {
    onnx::NodeProto& kept = *nodes.Add();
    kept = node;
    if (has(node, Trait::Moves)) continue;
    for (std::string& output : *kept.mutable_output()) {
      const auto type = types.find(output);
      if (type == types.end() || type->second.dtype != Dtype::Float32) continue;
      const std::string exact = names.unique(output + ".exact"), factor = names.unique(output + ".rounding");
      onnx::NodeProto draw;
      draw.set_op_type("RandomUniformLike");
      draw.set_name(factor);
      draw.add_input(exact);
      draw.add_output(factor);
      set_attribute(draw, "low", 1 - 0x1p-23F);
      set_attribute(draw, "high", 1 + 0x1p-23F);
      set_attribute(draw, "seed", static_cast<float>(nodes.size()));
      onnx::NodeProto product;
      product.set_op_type("Mul");
      product.set_name(names.unique(output + ".rounded"));
      product.add_input(exact);
      product.add_input(factor);
      product.add_output(output);
      output = exact;
      *nodes.Add() = draw;
      *nodes.Add() = product;
    }
  }
  graph.mutable_node()->Swap(&nodes);
  return noisy;
}

}  // namespace vernier
