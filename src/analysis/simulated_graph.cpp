#include "analysis/simulated_graph.h"

#include <algorithm>
#include <utility>

#include "analysis/quantizer_loss.h"
#include "model/operator_traits.h"
#include "plan/normalized_file.h"
#include "plan/round_node.h"

namespace vernier {

bool is_transparent(const onnx::NodeProto& node) {
  return node.domain() == kDomain || is_onnx(node, "Identity") || has(node, Trait::ChangesType) ||
         (is_onnx(node, "Sum") && node.input_size() == 1);
}

SimulatedGraph::SimulatedGraph(const Model& simulated) : model_(simulated), made_by_(makers_in(simulated)) {
  for (const onnx::NodeProto& node : simulated.proto.graph().node()) {
    const std::set<std::string> inputs(node.input().begin(), node.input().end());
    for (const std::string& input : inputs) readers_[input].push_back(&node);
  }
  for (const onnx::ValueInfoProto& output : simulated.proto.graph().output()) outputs_.insert(output.name());
}

const onnx::NodeProto* SimulatedGraph::maker(const std::string& tensor) const {
  const auto found = made_by_.find(tensor);
  return found == made_by_.end() ? nullptr : found->second;
}

std::string SimulatedGraph::base_of(std::string tensor) const {
  for (auto made = made_by_.find(tensor); made != made_by_.end() && is_transparent(*made->second);
       made = made_by_.find(tensor)) {
    tensor = made->second->input(0);
  }
  return tensor;
}

const onnx::NodeProto* SimulatedGraph::only_node(const std::string& tensor) const {
  const auto found = readers_.find(tensor);
  return found == readers_.end() || found->second.size() != 1 ? nullptr : found->second.front();
}

const onnx::NodeProto* SimulatedGraph::only(const std::string& tensor) const {
  return outputs_.contains(tensor) ? nullptr : only_node(tensor);
}

std::string SimulatedGraph::rounded_name(const std::string& tensor) const {
  const auto found = tensor.ends_with("/unrounded") ? readers_.find(tensor) : readers_.end();
  if (found == readers_.end()) return tensor;
  for (const onnx::NodeProto* node : found->second) {
    if (node->domain() == kDomain && node->op_type() == "Round" && node->input(0) == tensor) return node->output(0);
  }
  return tensor;
}

bool SimulatedGraph::any_of_type(const std::string& tensor, const std::string& op_type) const {
  const auto found = readers_.find(tensor);
  return found != readers_.end() &&
         std::ranges::any_of(found->second, [&](const auto* node) { return node->op_type() == op_type; });
}

std::string SimulatedGraph::behind_pair(const onnx::NodeProto& reader) const {
  if (reader.domain() == kDomain && reader.op_type() == "Round") return reader.output(0);
  if (!is_quantization(reader, "QuantizeLinear")) return {};
  const onnx::NodeProto* dequantizer = only(reader.output(0));
  const bool pair = dequantizer != nullptr && is_quantization(*dequantizer, "DequantizeLinear");
  return pair ? dequantizer->output(0) : std::string();
}

std::string SimulatedGraph::as_read(const std::string& tensor) const {
  const onnx::NodeProto* reader = only(tensor);
  const std::string made = reader == nullptr ? std::string() : behind_pair(*reader);
  return made.empty() ? tensor : made;
}

std::string SimulatedGraph::as_read_widest(const std::string& tensor) const {
  const auto found = outputs_.contains(tensor) ? readers_.end() : readers_.find(tensor);
  if (found == readers_.end()) return tensor;
  std::string widest = tensor;
  std::pair<float, float> most;
  for (const onnx::NodeProto* reader : found->second) {
    const std::string made = behind_pair(*reader);
    if (made.empty()) return tensor;
    std::pair<float, float> ends;
    if (reader->domain() == kDomain) {
      const QuantParams params = round_params(*reader);
      if (params.scale.size() == 1) ends = ends_of(params);
    }
    const bool wider = ends.first < most.first || (ends.first == most.first && ends.second > most.second);
    if (widest != tensor && !wider) continue;
    widest = made;
    most = ends;
  }
  return widest;
}

}  // namespace vernier
