#include "repairs/weighted_layers.h"

#include <map>

#include "model/graph_edit.h"
#include "numerics/tensor_grid.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier {

std::vector<WeightedLayer> weighted_layers(const Network& network) {
  const std::map<std::string, const onnx::NodeProto*> nodes = nodes_by_name(network.model.proto.graph());
  const PlannedFormats formats(network.plan);
  std::vector<WeightedLayer> found;
  for (const Layer& layer : network.layers) {
    const Format format = formats.of(layer.name);
    if (!layer.weighted || !layer.graph.empty() || !needs_scale(format)) continue;
    const onnx::NodeProto& node = *nodes.at(layer.name);
    if (node.input_size() < 2 || !is_initializer(network.model, node.input(1))) continue;
    if (!network.plan.tensors.contains(node.input(1))) continue;
    const std::string bias = node.input_size() > 2 ? node.input(2) : std::string();
    found.push_back({&layer, &node, format, node.input(0), node.input(1),
                     is_initializer(network.model, bias) ? bias : std::string()});
  }
  return found;
}

std::vector<float> absmax_along(const Tensor& weight, int axis) {
  QuantParams along;
  along.axis = axis;
  return absmax_of_scales(along, weight.shape(), weight.floats());
}

}  // namespace vernier
