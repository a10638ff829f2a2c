#include "jobs/debug/exact_grids.h"

#include <cstddef>
#include <utility>

#include "jobs/debug/other_constants.h"
#include "model/graph_edit.h"
#include "plan/round_node.h"

namespace vernier {
namespace {

/// The tensor of the float model behind each tensor of the file that it holds by itself.
std::map<std::string, std::string> right_twins(const std::vector<Match>& matches,
                                               const std::vector<std::optional<ErrorStats>>& exact) {
  std::map<std::string, std::string> twins;
  for (std::size_t i = 0; i < matches.size(); ++i) {
    if (exact[i] && exact[i]->count > 0 && sqnr_db(*exact[i]) >= kSameDb) twins.emplace(matches[i].low, matches[i].ref);
  }
  return twins;
}

}  // namespace

void measure_on_float_model(const Subject& subject, const SimulatedFile& file, const std::vector<Match>& matches,
                            const std::vector<std::optional<ErrorStats>>& exact,
                            const std::map<std::string, Bounds>& activations, std::vector<GridLoss>& grids) {
  const std::map<std::string, std::string> twins = right_twins(matches, exact);
  std::map<std::string, std::vector<std::size_t>> pairs;  // by the tensor of the float model
  std::map<std::string, Bounds> bounds;                   // by what a Round makes there
  const auto rounded_name = [](std::size_t pair) { return "grid" + std::to_string(pair) + "/on"; };
  for (std::size_t i = 0; i < file.quantized.size(); ++i) {
    const QuantizedTensor& pair = file.quantized[i];
    if (pair.quantizer.empty() || grids[i].count == 0) continue;
    auto twin = twins.find(pair.output);
    if (twin == twins.end()) {
      twin = twins.find(pair.tensor);
      const auto active = activations.find(pair.output);
      if (twin != twins.end() && active != activations.end()) bounds.emplace(rounded_name(i), active->second);
    }
    if (twin != twins.end()) pairs[twin->second].push_back(i);
  }
  if (pairs.empty()) return;
  SimulatedFile reference;
  reference.model = subject.model;
  reference.model.index.reset();
  set_opset(reference.model.proto, kDomain, kDomainVersion);
  onnx::GraphProto& graph = *reference.model.proto.mutable_graph();
  std::vector<std::size_t> order;
  std::vector<onnx::NodeProto> added;
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    for (std::string& output : *node.mutable_output()) {
      const auto read = pairs.find(output);
      if (read == pairs.end()) continue;
      const std::string name = std::exchange(output, output + "/exact");
      std::string last = output;
      for (const std::size_t i : read->second) {
        const std::string next = i == read->second.back() ? name : rounded_name(i);
        if (const auto active = bounds.find(rounded_name(i)); active != bounds.end() && next == name) {
          bounds[name] = active->second;
        }
        added.push_back(round_node(last, next, file.quantized[i].params));
        reference.quantized.push_back(file.quantized[i]);
        reference.quantized.back().tensor = last;
        reference.quantized.back().output = next;
        order.push_back(i);
        last = next;
      }
    }
  }
  for (onnx::NodeProto& node : added) *graph.add_node() = std::move(node);
  const std::vector<GridLoss> losses = measure_grids(subject, reference, bounds, /*rounded=*/false);
  for (std::size_t k = 0; k < losses.size(); ++k) {
    if (losses[k].count > 0) grids[order[k]] = losses[k];
  }
}

}  // namespace vernier
