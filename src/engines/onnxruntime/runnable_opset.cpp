#include "engines/onnxruntime/runnable_opset.h"

#include <onnx/defs/schema.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "model/model.h"
#include "model/operator_traits.h"

namespace vernier {
namespace {

constexpr int kRunnableOpset = 21;

constexpr std::array<std::string_view, 8> kWithoutNewerKernel{"GlobalLpPool",      "MaxRoiPool",       "Multinomial",
                                                              "RandomNormal",      "RandomNormalLike", "RandomUniform",
                                                              "RandomUniformLike", "RoiAlign"};

bool exists_at_runnable_opset(const onnx::NodeProto& node) {
  const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(node.op_type(), kRunnableOpset, "");
  return schema != nullptr && node.input_size() <= schema->max_input() && node.output_size() <= schema->max_output() &&
         std::ranges::all_of(node.attribute(), [&](const onnx::AttributeProto& attribute) {
           return schema->attributes().contains(attribute.name());
         });
}

}  // namespace

void lower_to_runnable_opset(onnx::ModelProto& proto) {
  if (default_opset(proto) <= kRunnableOpset || proto.functions_size() != 0) return;
  bool lacks_kernel = false;
  bool all_exist = true;
  for_each_graph(proto.graph(), [&](const onnx::GraphProto& graph) {
    for (const onnx::NodeProto& node : graph.node()) {
      if (!of_onnx(node)) continue;
      lacks_kernel =
          lacks_kernel || std::ranges::find(kWithoutNewerKernel, node.op_type()) != kWithoutNewerKernel.end();
      all_exist = all_exist && exists_at_runnable_opset(node);
    }
  });
  if (!lacks_kernel || !all_exist) return;
  for (onnx::OperatorSetIdProto& opset : *proto.mutable_opset_import()) {
    if (opset.domain().empty() || opset.domain() == "ai.onnx") opset.set_version(kRunnableOpset);
  }
}

}  // namespace vernier
