#include "analysis/class_scores.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "base/text.h"
#include "model/graph_walk.h"
#include "model/operator_traits.h"
#include "vernier/requirement.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

using MakingLayers = std::map<std::string, const Layer*>;

MakingLayers makers_of(const Subject& subject) {
  MakingLayers makers;
  for (const Layer& layer : subject.layers) {
    if (!layer.graph.empty()) continue;
    for (const std::string& output : layer.outputs) makers[output] = &layer;
  }
  return makers;
}

/// The operator that gives `tensor` its values; empty: none, as of a graph input.
std::string made_by(std::string tensor, const MakingLayers& makers) {
  while (true) {
    const auto found = makers.find(tensor);
    if (found == makers.end()) return {};
    const Layer& layer = *found->second;
    const std::string& op = layer.op_type;
    const bool constant = op == "Add" || op == "Sub" || op == "Mul" || op == "Div" || op == "BatchNormalization";
    // The largest or the first few of the scores are no score a class.
    const bool picks = layer.traits.any(Trait::Selects) && !layer.traits.any(Trait::ByChannel);
    if (!((layer.follows && !picks) || constant) || layer.inputs.size() != 1) return op;
    tensor = layer.inputs.front();
  }
}

bool is_softmax(std::string_view op_type) { return op_type == "Softmax" || op_type == "LogSoftmax"; }

bool softmax_reads(const Subject& subject, const std::string& tensor) {
  return std::ranges::any_of(subject.layers, [&](const Layer& layer) {
    return is_softmax(layer.op_type) && std::ranges::find(layer.inputs, tensor) != layer.inputs.end();
  });
}

/// Where the graph does not say which axis is that of the classes there may be positions and classes behind the batch,
/// and no more: logits of masks are pictures.
bool called_logits(const InputInfo& output, bool axis_known) {
  if (lower_case(output.name).find("logits") == std::string::npos || output.shape.empty()) return false;
  if (axis_known) return true;
  return std::count_if(output.shape.begin() + 1, output.shape.end(), [](std::int64_t dim) { return dim != 1; }) <= 2;
}

bool are_classes(const Subject& subject, const InputInfo& output, const OutputStats& stats,
                 const MakingLayers& makers) {
  const auto axis = subject.class_axes.find(output.name);
  if (axis != subject.class_axes.end() && (axis->second.picked || axis->second.given)) return true;
  if (called_logits(output, axis != subject.class_axes.end())) return true;
  if (stats.rows != static_cast<std::int64_t>(stats.samples)) return false;
  return is_softmax(made_by(output.name, makers)) || softmax_reads(subject, output.name);
}

}  // namespace

std::set<std::string> class_scores(const Subject& subject, const std::map<std::string, OutputStats>& stats,
                                   const Requirement* requirement) {
  const bool wanted = requirement != nullptr && requirement->metric == Metric::MinTop1Agreement;
  const MakingLayers makers = makers_of(subject);
  std::set<std::string> found;
  for (const InputInfo& output : model_outputs(subject.model)) {
    const auto sums = stats.find(output.name);
    if (sums == stats.end() || sums->second.rows == 0) continue;
    const bool part = std::ranges::find(subject.parts, output.name, &OutputPart::name) != subject.parts.end();
    const bool said = wanted || (subject.labelled && !part);
    if (said || (!part && are_classes(subject, output, sums->second, makers))) found.insert(output.name);
  }
  return found;
}

std::set<std::string> class_scores_by_graph(const Model& model) {
  const GraphWalk walk(model);
  const auto compares = [](const onnx::NodeProto& node) {
    return is_onnx(node, "ArgMax") || is_softmax(node.op_type());
  };
  std::set<std::string> found;
  for (const std::string& output : output_names(model)) {
    std::string tensor = output;
    while (true) {
      const auto& readers = walk.readers(tensor);
      const bool read = std::ranges::any_of(readers, [&](const onnx::NodeProto* node) { return compares(*node); });
      const onnx::NodeProto* maker = walk.maker(tensor);
      if (read || (maker != nullptr && is_softmax(maker->op_type()))) {
        found.insert(output);
        break;
      }
      const bool moves = maker != nullptr && has(*maker, Traits(Trait::Moves) | Trait::ChangesType) &&
                         maker->input_size() > 0 && !is_onnx(*maker, "Gather") && !is_onnx(*maker, "Slice");
      if (!moves) break;
      tensor = maker->input(0);
    }
  }
  return found;
}

}  // namespace vernier
