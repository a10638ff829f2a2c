#include "analysis/class_scores.h"

#include <algorithm>
#include <cstdint>

#include "base/text.h"
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

/// [N, C] or [N, C, 1, ..]; unknown dimensions behind the second could be anything.
bool has_class_axis(const Shape& shape) {
  if (shape.size() < 2) return shape.size() == 1;
  return std::all_of(shape.begin() + 2, shape.end(), [](std::int64_t dim) { return dim == 1; });
}

bool looks_like_classes(const InputInfo& output, const OutputStats& stats, const MakingLayers& makers, bool picked) {
  if (stats.rows == 0) return false;
  if (picked) return true;
  if (lower_case(output.name).find("logits") != std::string::npos) return true;
  if (stats.rows != static_cast<std::int64_t>(stats.samples)) return false;
  const std::string op = made_by(output.name, makers);
  if (op == "Softmax" || op == "LogSoftmax") return true;
  return (op == "Gemm" || op == "MatMul" || op == "Conv") && has_class_axis(output.shape);
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
    const auto axis = subject.class_axes.find(output.name);
    const bool picked = axis != subject.class_axes.end() && axis->second.picked;
    if (wanted || looks_like_classes(output, sums->second, makers, picked)) found.insert(output.name);
  }
  return found;
}

}  // namespace vernier
