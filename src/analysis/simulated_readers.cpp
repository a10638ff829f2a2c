#include "analysis/simulated_readers.h"

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

std::string base_of(const Makers& made_by, std::string tensor) {
  for (auto made = made_by.find(tensor); made != made_by.end() && is_transparent(*made->second);
       made = made_by.find(tensor)) {
    tensor = made->second->input(0);
  }
  return tensor;
}

SimulatedReaders::SimulatedReaders(const Model& simulated) {
  for (const onnx::NodeProto& node : simulated.proto.graph().node()) {
    const std::set<std::string> inputs(node.input().begin(), node.input().end());
    for (const std::string& input : inputs) of_[input].push_back(&node);
  }
  for (const onnx::ValueInfoProto& output : simulated.proto.graph().output()) outputs_.insert(output.name());
}

const onnx::NodeProto* SimulatedReaders::only_node(const std::string& tensor) const {
  const auto found = of_.find(tensor);
  return found == of_.end() || found->second.size() != 1 ? nullptr : found->second.front();
}

const onnx::NodeProto* SimulatedReaders::only(const std::string& tensor) const {
  return outputs_.contains(tensor) ? nullptr : only_node(tensor);
}

std::string SimulatedReaders::rounded_name(const std::string& tensor) const {
  const auto found = tensor.ends_with("/unrounded") ? of_.find(tensor) : of_.end();
  if (found == of_.end()) return tensor;
  for (const onnx::NodeProto* node : found->second) {
    if (node->domain() == kDomain && node->op_type() == "Round" && node->input(0) == tensor) return node->output(0);
  }
  return tensor;
}

bool SimulatedReaders::any_of_type(const std::string& tensor, const std::string& op_type) const {
  const auto found = of_.find(tensor);
  return found != of_.end() &&
         std::ranges::any_of(found->second, [&](const auto* node) { return node->op_type() == op_type; });
}

std::string SimulatedReaders::behind_pair(const onnx::NodeProto& reader) const {
  if (reader.domain() == kDomain && reader.op_type() == "Round") return reader.output(0);
  if (!is_quantization(reader, "QuantizeLinear")) return {};
  const onnx::NodeProto* dequantizer = only(reader.output(0));
  const bool pair = dequantizer != nullptr && is_quantization(*dequantizer, "DequantizeLinear");
  return pair ? dequantizer->output(0) : std::string();
}

std::string SimulatedReaders::as_read(const std::string& tensor) const {
  const onnx::NodeProto* reader = only(tensor);
  const std::string made = reader == nullptr ? std::string() : behind_pair(*reader);
  return made.empty() ? tensor : made;
}

std::string SimulatedReaders::as_read_widest(const std::string& tensor) const {
  const auto found = outputs_.contains(tensor) ? of_.end() : of_.find(tensor);
  if (found == of_.end()) return tensor;
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
