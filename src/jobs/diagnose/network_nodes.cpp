#include "jobs/diagnose/network_nodes.h"

#include <cstddef>
#include <set>
#include <string>
#include <unordered_map>

#include "model/graph_edit.h"
#include "model/operator_traits.h"

namespace vernier {

std::vector<NetworkNode> network_nodes(const Model& model, const std::vector<Layer>& layers,
                                       const std::map<std::string, Shape>& shapes) {
  std::unordered_map<std::string, const Layer*> by_name;
  for (const Layer& layer : layers) {
    if (layer.graph.empty()) by_name[layer.name] = &layer;
  }
  std::vector<NetworkNode> nodes;
  std::unordered_map<std::string, std::set<std::size_t>> makers;  // of each tensor: the layers its data comes from
  const auto makers_of = [&](const auto& tensors) {
    std::set<std::size_t> all;
    for (const std::string& tensor : tensors) {
      if (const auto found = makers.find(tensor); found != makers.end()) {
        all.insert(found->second.begin(), found->second.end());
      }
    }
    return all;
  };
  for (const onnx::NodeProto& node : model.proto.graph().node()) {
    const auto found = by_name.find(node.name());
    if (found != by_name.end()) {
      const std::set<std::size_t> from = makers_of(found->second->inputs);
      const std::size_t own = nodes.size();
      nodes.push_back({node.name(), node.op_type(), {from.begin(), from.end()}});
      if (!found->second->outputs.empty()) {
        if (const auto shape = shapes.find(found->second->outputs.front()); shape != shapes.end()) {
          nodes.back().shape = shape->second;
        }
      }
      for (const std::string& output : found->second->outputs) makers[output] = {own};
      continue;
    }
    std::set<std::size_t> from;
    if (has_body(node)) {
      from = makers_of(tensors_read(node));
    } else if (has(node, Trait::ChangesType) && node.input_size() > 0) {
      from = makers_of(std::set<std::string>{node.input(0)});
    }
    if (from.empty()) continue;
    for (const std::string& output : node.output()) makers[output] = from;
  }
  return nodes;
}

}  // namespace vernier
