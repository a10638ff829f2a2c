#include "jobs/verify/float_twins.h"

#include <fmt/format.h>

#include <cstddef>
#include <limits>
#include <optional>

#include "base/text.h"
#include "model/graph_edit.h"
#include "model/operator_traits.h"
#include "model/passes/pass.h"
#include "model/prepare.h"

namespace vernier {
namespace {

/// What computes `tensor`, through nodes that only round or convert it; null when nothing does.
const onnx::NodeProto* computed_by(const Makers& made_by, const std::string& tensor) {
  const auto converts = [](const onnx::NodeProto& node) {
    const std::string& op_type = node.op_type();
    return node.input_size() > 0 && (op_type == "Round" || op_type == "Identity" || op_type == "Cast");
  };
  auto made = made_by.find(tensor);
  while (made != made_by.end() && converts(*made->second)) made = made_by.find(made->second->input(0));
  return made == made_by.end() ? nullptr : made->second;
}

/// Why a constant of the float model is not what a dequantized one is compared with.
std::string misfit(const std::string& name, const std::optional<Tensor>& constant, const Tensor& dequantized) {
  if (!constant) return fmt::format("in its place the float model computes '{}'", printable(name));
  if (constant->shape() == dequantized.shape()) {
    return fmt::format("'{}' of the float model is {}", printable(name), dtype_name(constant->dtype()));
  }
  return fmt::format("its shape is {}, that of '{}' in the float model {}", shape_text(dequantized.shape()),
                     printable(name), shape_text(constant->shape()));
}

float bound(const Model& model, const onnx::NodeProto& clip, int index, const char* attribute, float fallback) {
  if (const onnx::AttributeProto* given = find_attribute(clip, attribute)) return given->f();
  const auto value = index < clip.input_size() ? initializer(model, clip.input(index)) : std::nullopt;
  return value && value->dtype() == Dtype::Float32 && value->count() == 1 ? value->floats().front() : fallback;
}

}  // namespace

FloatWeights float_weights(const Subject& subject, const Model& simulated, const LayerMatches& matches) {
  Model folded = subject.model;
  const PrepareOptions options;
  const Evaluator evaluate;
  passes::fold_batch_norm(folded, {options, evaluate, 0});
  const Makers ref_made = makers_in(subject.model);
  const Makers folded_made = makers_in(folded);
  const Makers low_made = makers_in(simulated);
  FloatWeights weights;
  for (const Match& match : matches.pairs) {
    const onnx::NodeProto* low = computed_by(low_made, match.low);
    const auto found = ref_made.find(match.ref);
    const onnx::NodeProto* ref = found == ref_made.end() ? nullptr : found->second;
    const auto merged = [&] { return ref != nullptr && low != nullptr && ref->op_type() != low->op_type(); };
    const Model* model = &subject.model;
    if (merged() && has(*ref, Trait::Clips)) ref = computed_by(ref_made, ref->input(0));
    if (merged() && ref->op_type() == "BatchNormalization") {
      ref = computed_by(folded_made, ref->output(0));
      model = &folded;
    }
    if (low == nullptr) continue;
    if (ref == nullptr || merged()) {
      for (const std::string& input : low->input()) {
        weights.why_not.emplace(
            input, fmt::format("the layer that reads it, '{}', is {} in the float model", printable(low->name()),
                               ref == nullptr ? "not there" : "a " + printable(ref->op_type())));
      }
      continue;
    }
    for (int k = 0; k < ref->input_size() && k < low->input_size(); ++k) {
      const auto a = initializer(*model, ref->input(k));
      const auto b = initializer(simulated, low->input(k));
      if (a && b && a->dtype() == Dtype::Float32 && b->dtype() == Dtype::Float32 && a->shape() == b->shape()) {
        weights.found.emplace(low->input(k), FloatWeight{ref->input(k), *a});
      } else if (b) {
        weights.why_not.emplace(low->input(k), misfit(ref->input(k), a, *b));
      }
    }
  }
  return weights;
}

std::map<std::string, Bounds> dropped_activations(const Subject& subject, const Model& simulated,
                                                  const LayerMatches& matches) {
  const std::map<std::string, const onnx::NodeProto*> nodes = nodes_by_name(subject.model.proto.graph());
  const Makers made_by = makers_in(simulated);
  constexpr float kLargest = std::numeric_limits<float>::max();
  std::map<std::string, Bounds> activations;
  for (std::size_t i = 0; i < matches.pairs.size(); ++i) {
    const auto node = nodes.find(matches.layers[i]->name);
    const auto round = made_by.find(matches.pairs[i].low);
    if (node == nodes.end() || round == made_by.end() || round->second->op_type() != "Round") continue;
    const auto source = made_by.find(round->second->input(0));
    if (source == made_by.end() || source->second->op_type() == node->second->op_type()) continue;
    if (node->second->op_type() == "Relu") activations[matches.pairs[i].low] = {0.0F, kLargest};
    if (node->second->op_type() != "Clip") continue;
    activations[matches.pairs[i].low] = {bound(subject.model, *node->second, 1, "min", -kLargest),
                                         bound(subject.model, *node->second, 2, "max", kLargest)};
  }
  return activations;
}

}  // namespace vernier
