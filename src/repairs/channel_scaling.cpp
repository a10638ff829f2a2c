#include "repairs/channel_scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>

#include "model/graph_edit.h"
#include "model/operator_traits.h"
#include "vernier/error.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

/// Of element `i` of a Conv weight [out, in / groups, ...]: which input channel it reads.
std::size_t channel_read(std::size_t i, const Shape& shape, std::size_t groups) {
  std::size_t inner = 1;
  for (std::size_t d = 2; d < shape.size(); ++d) inner *= static_cast<std::size_t>(shape[d]);
  const auto per_group = static_cast<std::size_t>(shape[1]);
  const std::size_t out = i / (inner * per_group);
  const std::size_t group = out / (static_cast<std::size_t>(shape[0]) / groups);
  return group * per_group + i / inner % per_group;
}

std::size_t groups_of(const onnx::NodeProto& conv) {
  return static_cast<std::size_t>(std::max<std::int64_t>(1, attribute_int(conv, "group", 1)));
}

/// Which output channel it makes; a ConvTranspose has weights [in, out / groups, ...].
std::size_t channel_made(std::size_t i, const Shape& shape, const onnx::NodeProto& node) {
  std::size_t inner = 1;
  for (std::size_t d = 2; d < shape.size(); ++d) inner *= static_cast<std::size_t>(shape[d]);
  const auto second = static_cast<std::size_t>(shape[1]);
  const std::size_t row = i / (inner * second);
  if (node.op_type() != "ConvTranspose") return row;
  const std::size_t group = row / (static_cast<std::size_t>(shape[0]) / groups_of(node));
  return group * second + i / inner % second;
}

std::vector<float> absmax_made(const Tensor& weight, const onnx::NodeProto& node) {
  std::vector<float> largest;
  for (std::size_t i = 0; i < weight.floats().size(); ++i) {
    const std::size_t channel = channel_made(i, weight.shape(), node);
    largest.resize(std::max(largest.size(), channel + 1));
    largest[channel] = std::max(largest[channel], std::abs(weight.floats()[i]));
  }
  return largest;
}

std::vector<float> absmax_read(const Tensor& weight, std::size_t groups) {
  std::vector<float> largest(static_cast<std::size_t>(weight.shape()[1]) * groups);
  for (std::size_t i = 0; i < weight.floats().size(); ++i) {
    float& channel = largest[channel_read(i, weight.shape(), groups)];
    channel = std::max(channel, std::abs(weight.floats()[i]));
  }
  return largest;
}

bool lets_factors_through(const Network& network, const onnx::NodeProto& node) {
  if (has(node, Trait::Elementwise) && has(node, Trait::Homogeneous)) return node.input_size() == 1;
  if (!is_onnx(node, "Clip") || default_opset(network.model.proto) < 12) return false;
  if (node.input_size() != 3) return false;
  const auto low = initializer(network.model, node.input(1));
  const auto high = initializer(network.model, node.input(2));
  return low && high && low->count() == 1 && high->count() == 1 && low->floats()[0] == 0;
}

onnx::NodeProto& layer_node(Model& model, const std::string& name) {
  onnx::NodeProto* node = find_node(*model.proto.mutable_graph(), name);
  if (node == nullptr) throw Error(ErrorKind::Internal, "a layer to scale is missing: " + name);
  return *node;
}

/// Clip(x, 0, high) -> Min(Relu(x), high / s): the node keeps its name, a Relu goes in front.
void clip_by_channel(Model& model, const std::string& name, const std::vector<float>& factors, std::size_t rank) {
  onnx::GraphProto& graph = *model.proto.mutable_graph();
  for (int i = 0; i < graph.node_size(); ++i) {
    if (graph.node(i).name() != name) continue;
    onnx::NodeProto clip = graph.node(i);
    NamePool names(model);
    const float high = initializer(model, clip.input(2)).value().floats()[0];
    Shape shape(rank - 1, 1);
    shape[0] = static_cast<std::int64_t>(factors.size());
    Tensor ends(Dtype::Float32, shape);
    for (std::size_t c = 0; c < factors.size(); ++c) ends.mutable_floats()[c] = high / factors[c];
    const std::string bounds = names.unique(name + ".ends");
    set_initializer(model, graph, bounds, ends);
    onnx::NodeProto relu;
    relu.set_op_type("Relu");
    relu.set_name(names.unique(name + ".relu"));
    relu.add_input(clip.input(0));
    relu.add_output(names.unique(clip.output(0) + ".relu"));
    onnx::NodeProto least;
    least.set_op_type("Min");
    least.set_name(name);
    least.add_input(relu.output(0));
    least.add_input(bounds);
    least.add_output(clip.output(0));
    replace_node(graph, i, {relu, least});
    return;
  }
}

}  // namespace

std::vector<std::string> ScalablePair::layers() const {
  std::vector<std::string> names{first.layer->name};
  for (const WeightedLayer& second : seconds) names.push_back(second.layer->name);
  return names;
}

void scale_constant(Model& model, const std::string& name, const std::function<float(std::size_t)>& factor) {
  const Tensor old = initializer(model, name).value();
  Tensor scaled(Dtype::Float32, old.shape());
  for (std::size_t i = 0; i < old.floats().size(); ++i) scaled.mutable_floats()[i] = old.floats()[i] * factor(i);
  set_initializer(model, *owner_of_initializer(model, name), name, scaled);
}

std::string own_copy(Model& model, const std::string& constant, const std::string& node) {
  onnx::NodeProto* reader = find_node(*model.proto.mutable_graph(), node);
  if (reader == nullptr) throw Error(ErrorKind::Internal, "a node to scale is missing: " + node);
  const std::string copy = NamePool(model).unique(constant);
  set_initializer(model, *owner_of_initializer(model, constant), copy, initializer(model, constant).value());
  for (std::string& input : *reader->mutable_input()) {
    if (input == constant) input = copy;
  }
  return copy;
}

std::vector<ScalablePair> scalable_pairs(const Network& network) {
  const std::map<std::string, int> readers = count_readers(network.model);
  std::map<std::string, const onnx::NodeProto*> makers;
  for (const onnx::NodeProto& node : network.model.proto.graph().node()) {
    for (const std::string& output : node.output()) makers[output] = &node;
  }
  const std::vector<WeightedLayer> layers = weighted_layers(network);
  std::map<std::string, const WeightedLayer*> by_output;
  std::map<std::string, std::vector<WeightedLayer>> by_data;
  for (const WeightedLayer& layer : layers) {
    by_output[layer.node->output(0)] = &layer;
    by_data[layer.data].push_back(layer);
  }
  const auto alone = [&](const std::string& name) { return readers.contains(name) && readers.at(name) == 1; };
  std::vector<ScalablePair> pairs;
  for (const WeightedLayer& layer : layers) {
    ScalablePair pair;
    pair.seconds = std::move(by_data[layer.data]);
    by_data[layer.data].clear();  // they were looked at together
    const bool convolutions = std::ranges::all_of(pair.seconds, [&](const WeightedLayer& second) {
      return second.node->op_type() == "Conv" && alone(second.weight);
    });
    if (pair.seconds.empty() || !convolutions || readers.at(layer.data) != static_cast<int>(pair.seconds.size())) {
      continue;
    }
    std::string made = layer.data;
    if (const auto maker = makers.find(made); maker != makers.end() && !by_output.contains(made)) {
      if (!lets_factors_through(network, *maker->second)) continue;
      pair.between = maker->second;
      made = pair.between->input(0);
      if (!alone(made)) continue;
    }
    const auto first = by_output.find(made);
    if (first == by_output.end() || !has(*first->second->node, Trait::Convolves) || !alone(first->second->weight)) {
      continue;
    }
    pair.first = *first->second;
    if (!pair.first.bias.empty() && !alone(pair.first.bias)) continue;
    pair.made = absmax_made(*initializer(network.model, pair.first.weight), *pair.first.node);
    pair.read.resize(pair.made.size());
    bool fits = true;
    for (const WeightedLayer& second : pair.seconds) {
      const std::vector<float> read = absmax_read(*initializer(network.model, second.weight), groups_of(*second.node));
      fits = fits && read.size() == pair.read.size();
      for (std::size_t j = 0; fits && j < read.size(); ++j) pair.read[j] = std::max(pair.read[j], read[j]);
    }
    if (fits) pairs.push_back(std::move(pair));
  }
  return pairs;
}

void scale_channels(Model& model, const ScalablePair& pair, const std::vector<float>& factors) {
  const Shape w1 = initializer(model, pair.first.weight).value().shape();
  const onnx::NodeProto first = layer_node(model, pair.first.layer->name);
  scale_constant(model, pair.first.weight, [&](std::size_t i) { return 1 / factors[channel_made(i, w1, first)]; });
  if (!pair.first.bias.empty()) scale_constant(model, pair.first.bias, [&](std::size_t i) { return 1 / factors[i]; });
  for (const WeightedLayer& second : pair.seconds) {
    const Shape w2 = initializer(model, second.weight).value().shape();
    const std::size_t groups = groups_of(layer_node(model, second.layer->name));
    scale_constant(model, second.weight, [&](std::size_t i) { return factors[channel_read(i, w2, groups)]; });
  }
  if (pair.between != nullptr && pair.between->op_type() == "Clip") {
    clip_by_channel(model, pair.between->name(), factors, w1.size());
  }
}

float power_of_two(double factor) { return static_cast<float>(std::exp2(std::nearbyint(std::log2(factor)))); }

Proposal scaling_proposal(const ScalablePair& pair, const std::vector<float>& factors, const std::string& what) {
  Proposal proposal;
  proposal.layers = pair.layers();
  // The names outlive this model: it is edited when the proposal is tried.
  ScalablePair kept = pair;
  const auto between = pair.between == nullptr ? nullptr : std::make_shared<onnx::NodeProto>(*pair.between);
  const auto layers = std::make_shared<std::vector<Layer>>();
  layers->push_back(*pair.first.layer);
  for (const WeightedLayer& second : pair.seconds) layers->push_back(*second.layer);
  proposal.rewrite = [kept, between, layers, factors](Model& model) mutable {
    kept.between = between.get();
    kept.first.layer = &layers->front();
    for (std::size_t i = 0; i < kept.seconds.size(); ++i) kept.seconds[i].layer = &(*layers)[i + 1];
    scale_channels(model, kept, factors);
  };
  const auto [low, high] = std::ranges::minmax(factors);
  proposal.what = fmt::format("{}: {} channels times {:g} to {:g}", what, factors.size(), low, high);
  return proposal;
}

}  // namespace vernier
