#include "model/openvino_reader.h"

#include <algorithm>

#include "model/contents.h"
#include "model/graph_edit.h"
#include "model/model.h"
#include "model/operator_traits.h"

namespace vernier {

int opset_read_by_openvino(const onnx::NodeProto& node, int opset) {
  // The axes are an input from opset 18 on; of the attribute in front of that it knows nothing.
  constexpr int kAxesAreAnInput = 18, kSoftmaxAlongOneAxis = 13;
  const bool reduces = is_onnx(node, "ReduceL1") || is_onnx(node, "ReduceLogSum") || is_onnx(node, "ReduceLogSumExp");
  if (reduces && opset >= 13 && opset < kAxesAreAnInput && find_attribute(node, "axes") != nullptr) {
    return kAxesAreAnInput;
  }
  const bool along_last = attribute_int(node, "axis", 1) == -1;
  if (is_onnx(node, "Softmax") && opset >= 11 && opset < kSoftmaxAlongOneAxis && !along_last) {
    return kSoftmaxAlongOneAxis;
  }
  return opset;
}

int opset_read_by_openvino(const onnx::ModelProto& model) {
  const int opset = default_opset(model);
  int wanted = opset;
  for_each_graph(model.graph(), [&](const onnx::GraphProto& graph) {
    for (const onnx::NodeProto& node : graph.node()) wanted = std::max(wanted, opset_read_by_openvino(node, opset));
  });
  return wanted;
}

bool lacks_attribute_for_openvino(const onnx::NodeProto& node) {
  return is_onnx(node, "RoiAlign") && find_attribute(node, "sampling_ratio") == nullptr;
}

}  // namespace vernier
