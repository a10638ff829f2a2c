#include "jobs/verify/float_twins.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "analysis/folded_factors.h"
#include "analysis/moved_constant.h"
#include "analysis/products.h"
#include "base/text.h"
#include "jobs/verify/product_twins.h"
#include "model/graph_edit.h"
#include "model/operator_traits.h"
#include "model/passes/pass.h"
#include "model/prepare.h"
#include "plan/simulate_typed.h"

namespace vernier {
namespace {

/// What computes `tensor`, through nodes that only round or convert it; null when nothing does. Pairs that Round cannot
/// stand for (16 bits) are still there.
const onnx::NodeProto* computed_by(const Makers& made_by, const std::string& tensor) {
  const auto converts = [](const onnx::NodeProto& node) {
    const std::string& op_type = node.op_type();
    return node.input_size() > 0 &&
           (op_type == "Round" || op_type == "Identity" || op_type == "Cast" || has(node, Trait::Quantizes));
  };
  auto made = made_by.find(tensor);
  while (made != made_by.end() && converts(*made->second)) made = made_by.find(made->second->input(0));
  return made == made_by.end() ? nullptr : made->second;
}

/// Why a constant of the float model is not what a dequantized one is compared with.
std::string misfit(const std::string& name, const std::optional<Tensor>& constant, const Tensor& dequantized) {
  if (!constant) return fmt::format("the float model computes '{}' instead", printable(name));
  if (constant->shape() == dequantized.shape()) {
    return fmt::format("'{}' of the float model is {}", printable(name), dtype_name(constant->dtype()));
  }
  return fmt::format("its shape is {}, that of '{}' in the float model {}", shape_text(dequantized.shape()),
                     printable(name), shape_text(constant->shape()));
}

/// A weighted operator with what is added to its result: its own bias, or the constant of an Add behind it.
struct Affine {
  const onnx::NodeProto* product = nullptr;
  std::string bias;  // empty: none
};

std::optional<Affine> affine_of(const Model& model, const Makers& made_by, const onnx::NodeProto& node) {
  if (has(node, Trait::Weighted)) return Affine{&node, node.input_size() > 2 ? node.input(2) : std::string()};
  if (!is_onnx(node, "Add") || node.input_size() != 2) return std::nullopt;
  for (const int constant : {0, 1}) {
    const onnx::NodeProto* product = computed_by(made_by, node.input(1 - constant));
    if (!initializer(model, node.input(constant)) || product == nullptr || !has(*product, Trait::Weighted)) continue;
    if (product->input_size() == 2) return Affine{product, node.input(constant)};
  }
  return std::nullopt;
}

/// Exporters give a bias the shape [C] inside of a Conv, and [1, C, 1, 1] in an Add behind it.
bool same_but_for_ones(const Shape& a, const Shape& b) {
  const auto without_ones = [](const Shape& shape) {
    Shape kept;
    std::ranges::copy_if(shape, std::back_inserter(kept), [](std::int64_t dim) { return dim != 1; });
    return kept;
  };
  return without_ones(a) == without_ones(b);
}

/// An Add or Mul whose constant stands on the other side than that of its twin.
bool is_swapped(const Model& model, const onnx::NodeProto& node, const Model& other, const onnx::NodeProto& twin) {
  if ((!is_onnx(node, "Add") && !is_onnx(node, "Mul")) || node.input_size() != 2 || twin.input_size() != 2)
    return false;
  const bool first = is_initializer(model, node.input(0)), second = is_initializer(model, node.input(1));
  return first != second && first == is_initializer(other, twin.input(1)) &&
         second == is_initializer(other, twin.input(0));
}

/// Whether one Gemm reads a square weight as its transpose, by `transB`, and the other as it is, and the constants
/// themselves are turned as well: then both compute the same.
bool is_turned(const onnx::NodeProto& ref, const Tensor& wanted, const onnx::NodeProto& low, const Tensor& held) {
  if (!is_onnx(ref, "Gemm") || attribute_int(ref, "transB", 0) == attribute_int(low, "transB", 0)) return false;
  if (wanted.shape().size() != 2 || wanted.shape()[0] != wanted.shape()[1] || held.shape() != wanted.shape()) {
    return false;
  }
  const auto size = static_cast<std::size_t>(wanted.shape()[0]);
  double as_stored = 0, turned = 0;
  for (std::size_t i = 0; i < wanted.floats().size(); ++i) {
    const auto value = static_cast<double>(held.floats()[i]);
    as_stored += value * static_cast<double>(wanted.floats()[i]);
    turned += value * static_cast<double>(wanted.floats()[i % size * size + i / size]);
  }
  return std::abs(turned) > std::abs(as_stored);
}

Tensor transposed(const Tensor& matrix) {
  const std::int64_t rows = matrix.shape()[1], columns = matrix.shape()[0];
  Tensor turned(Dtype::Float32, {rows, columns});
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    turned.mutable_floats()[static_cast<std::size_t>(i)] =
        matrix.floats()[static_cast<std::size_t>(i % columns * rows + i / columns)];
  }
  return turned;
}

/// The constant that a MatMul, or a Gemm without a factor, multiplies with, as [inputs, outputs].
std::optional<FloatWeight> weight_of_product(const Model& model, const onnx::NodeProto& node) {
  const bool gemm = is_onnx(node, "Gemm");
  if ((!gemm && !is_onnx(node, "MatMul")) || attribute_float(node, "alpha", 1) != 1) return std::nullopt;
  const auto values = initializer(model, node.input(1));
  if (!values || values->dtype() != Dtype::Float32 || values->shape().size() != 2) return std::nullopt;
  if (!gemm || attribute_int(node, "transB", 0) == 0) return FloatWeight{node.input(1), *values};
  return FloatWeight{node.input(1), transposed(*values)};
}

float bound(const Model& model, const onnx::NodeProto& clip, int index, const char* attribute, float fallback) {
  if (const onnx::AttributeProto* given = find_attribute(clip, attribute)) return given->f();
  const auto value = index < clip.input_size() ? initializer(model, clip.input(index)) : std::nullopt;
  return value && value->dtype() == Dtype::Float32 && value->count() == 1 ? value->floats().front() : fallback;
}

/// Weights of layers inside bodies of If, Loop and Scan, whose nodes have the same names in both files.
void add_weights_of_bodies(const Model& model, const Model& simulated, FloatWeights& weights) {
  std::map<std::string, const onnx::NodeProto*> layers;
  for_each_graph(model.proto.graph(), [&](const onnx::GraphProto& graph) {
    if (&graph == &model.proto.graph()) return;
    for (const onnx::NodeProto& node : graph.node()) layers.emplace(node.name(), &node);
  });
  if (layers.empty()) return;
  for_each_graph(simulated.proto.graph(), [&](const onnx::GraphProto& graph) {
    if (&graph == &simulated.proto.graph()) return;
    for (const onnx::NodeProto& node : graph.node()) {
      const auto twin = layers.find(node.name());
      if (twin == layers.end() || twin->second->op_type() != node.op_type()) continue;
      for (int k = 0; k < node.input_size() && k < twin->second->input_size(); ++k) {
        const auto held = initializer(simulated, node.input(k));
        const auto wanted = held ? initializer(model, twin->second->input(k)) : std::nullopt;
        if (!wanted || wanted->dtype() != Dtype::Float32 || held->dtype() != Dtype::Float32) continue;
        if (wanted->shape() != held->shape()) continue;
        weights.found.emplace(node.input(k), FloatWeight{twin->second->input(k), *wanted});
      }
    }
  });
}

/// Weights and biases that hold a factor, and are right with it.
void add_folded_factors(const Subject& subject, const Model& simulated, const LayerMatches& matches,
                        FloatWeights& weights) {
  for (auto& [constant, folded] : find_folded_factors(subject, simulated, matches).constants) {
    const auto known = weights.found.find(constant);
    FloatWeight weight{folded.name, std::move(folded.values)};
    if (known != weights.found.end()) weight.match = known->second.match;
    weight.factor = true;
    weights.why_not.erase(constant);
    weights.found.insert_or_assign(constant, std::move(weight));
  }
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
  std::optional<std::map<std::string, ValueType>> types;
  for (std::size_t index = 0; index < matches.pairs.size(); ++index) {
    const Match& match = matches.pairs[index];
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
    if (ref != nullptr && low->op_type() == "MatMulNBits") {
      if (auto weight = weight_of_product(*model, *ref)) weights.found.emplace(low->input(1), *std::move(weight));
      continue;
    }
    const auto add = [&](const std::string& wanted, std::string held, bool is_bias) {
      const auto a = initializer(*model, wanted);
      const auto moved = moved_constant(simulated, low_made, held, types);
      if (moved) held = moved->name;
      const auto b = initializer(simulated, held);
      const bool fits =
          a && moved && (a->shape() == moved->shape || (is_bias && same_but_for_ones(a->shape(), moved->shape)));
      if (fits && a->dtype() == Dtype::Float32 && is_turned(*ref, *a, *low, *b)) return;
      if (fits && a->dtype() == Dtype::Float32) {
        weights.found.emplace(held, FloatWeight{wanted, in_places_of(*moved, *a, b->shape()), index});
      } else if (b) {
        weights.why_not.emplace(held, misfit(wanted, a, *b));
      }
    };
    if (ref != nullptr) {
      const auto wanted = affine_of(*model, model == &folded ? folded_made : ref_made, *ref);
      const auto held = affine_of(simulated, low_made, *low);
      if (wanted && held && wanted->product->op_type() == held->product->op_type()) {
        for (int k = 0; k < 2; ++k) add(wanted->product->input(k), held->product->input(k), /*is_bias=*/false);
        if (!wanted->bias.empty() && !held->bias.empty()) add(wanted->bias, held->bias, /*is_bias=*/true);
        continue;
      }
    }
    if (ref == nullptr || merged()) {
      for (const std::string& input : low->input()) {
        weights.why_not.emplace(
            input, fmt::format("the layer that reads it, '{}', is {} in the float model", printable(low->name()),
                               ref == nullptr ? "missing" : "a " + printable(ref->op_type())));
      }
      continue;
    }
    const bool swapped = is_swapped(*model, *ref, simulated, *low);
    for (int k = 0; k < ref->input_size() && k < low->input_size(); ++k) {
      add(ref->input(k), low->input(swapped ? 1 - k : k), /*is_bias=*/false);
    }
  }
  const auto is_norm = [](const onnx::NodeProto& node) { return node.op_type() == "BatchNormalization"; };
  const bool keeps_norms = std::ranges::any_of(simulated.proto.graph().node(), is_norm);
  add_product_twins(keeps_norms ? subject.model : folded, simulated, places_of_products(subject, simulated, matches),
                    types, weights);
  add_weights_of_bodies(subject.model, simulated, weights);
  add_folded_factors(subject, simulated, matches, weights);
  return weights;
}

void add_constants_of_moves(const Subject& subject, const Model& simulated, FloatWeights& weights) {
  const auto holds_constant = [&](const onnx::NodeProto& node) {
    const auto is_float = [&](const std::string& input) {
      const auto value = initializer(subject.model, input);
      return value && value->dtype() == Dtype::Float32;
    };
    return has(node, kFollows) && std::ranges::any_of(node.input(), is_float);
  };
  if (std::ranges::none_of(subject.model.proto.graph().node(), holds_constant)) return;
  const LayerMatches matches = match_layers(subject, simulated, /*moves=*/true);
  for (auto& [constant, weight] : float_weights(subject, simulated, matches).found) {
    weight.match.reset();  // of other matches
    weights.why_not.erase(constant);
    weights.found.emplace(constant, std::move(weight));
  }
}

std::string limits_text(const Model& model, const onnx::NodeProto& activation) {
  constexpr float kMost = std::numeric_limits<float>::max();
  if (activation.op_type() != "Clip") return "0 and more";
  const float low = bound(model, activation, 1, "min", -kMost), high = bound(model, activation, 2, "max", kMost);
  if (high == kMost) return fmt::format("{:.3g} and more", low);
  return low == -kMost ? fmt::format("{:.3g} and less", high) : fmt::format("{:.3g} and {:.3g}", low, high);
}

std::map<std::string, Bounds> dropped_activations(const Subject& subject, const Model& simulated,
                                                  const LayerMatches& matches) {
  const std::map<std::string, const onnx::NodeProto*> nodes = nodes_by_name(subject.model.proto.graph());
  const Makers made_by = makers_in(simulated);
  constexpr float kLargest = std::numeric_limits<float>::max();
  std::map<std::string, Bounds> activations;
  const auto add = [&](const std::string& rounded, const onnx::NodeProto& node) {
    if (node.op_type() == "Relu") activations[rounded] = {0.0F, kLargest};
    if (node.op_type() != "Clip") return;
    activations[rounded] = {bound(subject.model, node, 1, "min", -kLargest),
                            bound(subject.model, node, 2, "max", kLargest)};
  };
  std::map<std::string, std::string> twins;               // by the tensor of the float model
  std::map<std::string, const onnx::NodeProto*> dropped;  // by what pairs read that do its work
  for (std::size_t i = 0; i < matches.pairs.size(); ++i) {
    twins.emplace(matches.pairs[i].ref, matches.pairs[i].low);
    const auto node = nodes.find(matches.layers[i]->name);
    const auto round = made_by.find(matches.pairs[i].low);
    if (node == nodes.end() || round == made_by.end() || round->second->op_type() != "Round") continue;
    const auto source = made_by.find(round->second->input(0));
    if (source == made_by.end() || source->second->op_type() == node->second->op_type()) continue;
    dropped[round->second->input(0)] = node->second;
  }
  // One whose result is matched with nothing: pairs behind what it reads do its work.
  for (const onnx::NodeProto& node : subject.model.proto.graph().node()) {
    if (!has(node, Trait::Clips) || twins.contains(node.output(0))) continue;
    if (const auto twin = twins.find(node.input(0)); twin != twins.end()) dropped.emplace(twin->second, &node);
  }
  for (const onnx::NodeProto& node : simulated.proto.graph().node()) {
    if (node.op_type() != "Round") continue;
    if (const auto found = dropped.find(node.input(0)); found != dropped.end()) add(node.output(0), *found->second);
  }
  return activations;
}

}  // namespace vernier
