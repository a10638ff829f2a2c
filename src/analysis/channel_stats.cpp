#include "analysis/channel_stats.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <span>

#include "analysis/own_error.h"
#include "analysis/surgery.h"
#include "model/operator_traits.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

constexpr const char* kMean = "mean error/";
constexpr const char* kLargest = "largest/";

void add_node(onnx::GraphProto& graph, const char* op_type, const std::vector<std::string>& inputs,
              const std::string& output) {
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type(op_type);
  node.set_name(output);
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(output);
}

/// Reduces all dimensions but `axis`, which stays alone.
void reduce(Model& model, const char* op_type, const std::string& input, const std::string& output, std::size_t rank,
            std::size_t axis) {
  onnx::GraphProto& graph = *model.proto.mutable_graph();
  std::vector<std::int64_t> axes;
  for (std::size_t i = 0; i < rank; ++i) {
    if (i != axis) axes.push_back(static_cast<std::int64_t>(i));
  }
  if (axes.empty()) return add_node(graph, "Identity", {input}, output);
  add_node(graph, op_type, {input}, output);
  onnx::NodeProto& node = *graph.mutable_node(graph.node_size() - 1);
  set_attribute(node, "keepdims", std::int64_t{0});
  if (default_opset(model.proto) < 18) {
    set_attribute(node, "axes", axes);
    return;
  }
  set_initializer(model, graph, output + "/axes", Tensor::of_int64({static_cast<std::int64_t>(axes.size())}, axes));
  node.add_input(output + "/axes");
}

/// Runs `model`, which `figures` were added to, over the samples of `order`.
void run_for(const Subject& subject, Model& model, ShadowFigures& figures, const std::vector<std::string>& tensors,
             const std::vector<std::size_t>& order, const char* what) {
  if (tensors.empty()) return;
  std::vector<std::pair<std::string, Dtype>> outputs;
  for (const std::string& tensor : tensors) outputs.emplace_back(tensor, Dtype::Float32);
  for (const Carry& carry : subject.carries) outputs.emplace_back(carry.output, Dtype::Float32);
  set_outputs(model, outputs);
  const Session session = subject.session(model);
  run_samples(subject, session, order, {}, what, [&](SampleResult result) {
    for (std::size_t i = 0; i < tensors.size(); ++i) figures.fold(i, result.outputs[i].floats());
    return true;
  });
}

}  // namespace

std::size_t channel_axis(const Layer& layer, std::size_t rank) {
  const bool convolves = layer.traits.any(Trait::Convolves);
  const bool rows = (layer.weighted && !convolves) || rank < 3;
  const bool image = rank >= 4 || convolves;
  return !rows && image ? 1 : rank - 1;
}

std::vector<std::string> MeanErrors::layers_of(const Subject& subject, const Plan& plan,
                                               const std::vector<std::string>* asked) {
  std::vector<std::string> names;
  const PlannedFormats formats(plan);
  for (const Layer& layer : subject.layers) {
    const bool wanted = asked == nullptr || std::ranges::find(*asked, layer.name) != asked->end();
    if (wanted && layer.weighted && layer.graph.empty() && needs_scale(formats.of(layer.name))) {
      names.push_back(layer.name);
    }
  }
  return names;
}

std::vector<std::string> MeanErrors::add_to(Model& model, const std::vector<Shadow>& shadows) {
  std::vector<std::string> tensors;
  for (const Shadow& shadow : shadows) {
    if (!wanted_.contains(shadow.layer->name)) continue;
    const auto shape = shapes_.find(shadow.layer->outputs.front());
    // Where the result is quantized behind its activation, a bias moves nothing linearly.
    if (shadow.outputs.size() != 1 || shadow.tensors.front() != shadow.layer->outputs.front()) continue;
    if (shape == shapes_.end() || shape->second.empty()) continue;
    const std::string name = kMean + shadow.layer->name;
    add_node(*model.proto.mutable_graph(), "Sub", {shadow.outputs.front(), shadow.tensors.front()}, name + "/error");
    reduce(model, "ReduceMean", name + "/error", name, shape->second.size(),
           channel_axis(*shadow.layer, shape->second.size()));
    tensors.push_back(name);
    layers_.push_back(shadow.layer->name);
  }
  return tensors;
}

void MeanErrors::fold(std::size_t tensor, std::span<const float> values) {
  ChannelMeans& means = means_[layers_[tensor]];
  means.mean.resize(values.size());
  means.variance.resize(values.size());
  for (std::size_t c = 0; c < values.size(); ++c) {
    const auto value = static_cast<double>(values[c]);
    means.mean[c] += value / samples_;
    means.variance[c] += value * value / samples_;
  }
}

std::map<std::string, ChannelMeans> MeanErrors::take() {
  for (auto& [layer, means] : means_) {
    if (samples_ < 2) means.variance.clear();
    for (std::size_t c = 0; c < means.variance.size(); ++c) {
      means.variance[c] = std::max(0.0, means.variance[c] - means.mean[c] * means.mean[c]) / (samples_ - 1);
    }
  }
  return std::move(means_);
}

std::map<std::string, ChannelMeans> mean_errors(const Subject& subject, const Plan& plan, RoundedWeights& weights,
                                                const std::map<std::string, Shape>& shapes,
                                                const std::vector<std::size_t>& order) {
  const std::vector<std::string> layers = MeanErrors::layers_of(subject, plan, nullptr);
  MeanErrors figures(layers, shapes, order.size());
  Model model = subject.model;
  const std::vector<Shadow> shadows = add_shadows(model, subject, plan, layers, weights, nullptr);
  const std::vector<std::string> tensors = figures.add_to(model, shadows);
  run_for(subject, model, figures, tensors, order, "mean error");
  return figures.take();
}

namespace {

/// The first weighted layer that reads each tensor.
std::map<std::string, const Layer*> weighted_readers(const Subject& subject) {
  std::map<std::string, const Layer*> readers;
  for (const Layer& layer : subject.layers) {
    if (!layer.weighted || !layer.graph.empty()) continue;
    for (const std::string& tensor : layer.inputs) readers.emplace(tensor, &layer);
  }
  return readers;
}

/// What products with weights make, in a network with products of two activations: queries and keys, before their heads
/// are split.
std::set<std::string> made_for_products(const Subject& subject) {
  std::set<std::string> made;
  bool any = false;
  for (const Layer& layer : subject.layers) {
    if (!layer.graph.empty()) continue;
    const bool product = layer.weighted && !layer.traits.any(Trait::Convolves);
    any = any || (product && layer.weights.empty());
    if (product && !layer.weights.empty()) made.insert(layer.outputs.front());
  }
  return any ? made : std::set<std::string>();
}

}  // namespace

std::vector<std::string> LargestMagnitudes::add_to(Model& model, const std::vector<Shadow>&) {
  const std::map<std::string, const Layer*> readers = weighted_readers(subject_);
  std::vector<std::string> outputs;
  for (const std::string& tensor : wanted_) {
    const auto shape = shapes_.find(tensor);
    const auto reader = readers.find(tensor);
    if (shape == shapes_.end()) continue;
    const std::size_t rank = shape->second.size();
    if (rank < 2 || element_count(shape->second) == 0) continue;
    const std::string name = kLargest + tensor;
    add_node(*model.proto.mutable_graph(), "Abs", {tensor}, name + "/magnitude");
    reduce(model, "ReduceMax", name + "/magnitude", name, rank,
           reader == readers.end() ? rank - 1 : channel_axis(*reader->second, rank));
    outputs.push_back(name);
    tensors_.push_back(tensor);
  }
  return outputs;
}

void LargestMagnitudes::fold(std::size_t tensor, std::span<const float> values) {
  std::vector<float>& channels = largest_[tensors_[tensor]];
  channels.resize(std::max(channels.size(), values.size()));
  for (std::size_t c = 0; c < values.size(); ++c) channels[c] = std::max(channels[c], values[c]);
}

std::map<std::string, std::vector<float>> channel_magnitudes(const Subject& subject,
                                                             const std::map<std::string, Shape>& shapes,
                                                             const std::vector<std::size_t>& order) {
  std::set<std::string> tensors;
  for (const auto& [tensor, reader] : weighted_readers(subject)) tensors.insert(tensor);
  tensors.merge(made_for_products(subject));
  LargestMagnitudes figures(subject, tensors, shapes);
  Model model = subject.model;
  const std::vector<std::string> outputs = figures.add_to(model, {});
  run_for(subject, model, figures, outputs, order, "magnitudes");
  return figures.take();
}

}  // namespace vernier
