#include "analysis/channel_stats.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <set>
#include <span>

#include "analysis/own_error.h"
#include "analysis/surgery.h"
#include "model/operator_traits.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

constexpr const char* kChannel = "channel/";

void add_node(onnx::GraphProto& graph, const char* op_type, const std::vector<std::string>& inputs,
              const std::string& output) {
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type(op_type);
  node.set_name(output);
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(output);
}

/// Reduces all dimensions but `axis`, which stays alone; an `axis` of `rank` leaves none.
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

/// Runs `model` over the samples of `order` and hands over the values of each of `outputs`, by its place there.
void for_each_result(const Subject& subject, Model& model, std::vector<std::pair<std::string, Dtype>> outputs,
                     const std::vector<std::size_t>& order, const char* what,
                     const std::function<void(std::size_t, std::span<const float>)>& fold) {
  const std::size_t wanted = outputs.size();
  for (const Carry& carry : subject.carries) outputs.emplace_back(carry.output, Dtype::Float32);
  set_outputs(model, outputs);
  const Session session = subject.session(model);
  run_samples(subject, session, order, {}, what, [&](SampleResult result) {
    for (std::size_t i = 0; i < wanted; ++i) fold(i, result.outputs[i].floats());
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

std::map<std::string, std::vector<double>> mean_errors(const Subject& subject, const Plan& plan,
                                                       RoundedWeights& weights,
                                                       const std::map<std::string, Shape>& shapes,
                                                       const std::vector<std::size_t>& order,
                                                       const std::vector<std::string>* layers_asked) {
  std::vector<std::string> names;
  const PlannedFormats formats(plan);
  for (const Layer& layer : subject.layers) {
    const bool asked = layers_asked == nullptr || std::ranges::find(*layers_asked, layer.name) != layers_asked->end();
    if (asked && layer.weighted && layer.graph.empty() && needs_scale(formats.of(layer.name))) {
      names.push_back(layer.name);
    }
  }
  Model model = subject.model;
  const std::vector<Shadow> shadows = add_shadows(model, subject, plan, names, weights, nullptr);
  std::vector<std::pair<std::string, Dtype>> outputs;
  std::vector<std::string> layers;
  for (const Shadow& shadow : shadows) {
    const auto shape = shapes.find(shadow.layer->outputs.front());
    // Where the result is quantized behind its activation, a bias moves nothing linearly.
    if (shadow.outputs.size() != 1 || shadow.tensors.front() != shadow.layer->outputs.front()) continue;
    if (shape == shapes.end() || shape->second.empty()) continue;
    const std::string name = kChannel + shadow.layer->name;
    add_node(*model.proto.mutable_graph(), "Sub", {shadow.outputs.front(), shadow.tensors.front()}, name + "/error");
    reduce(model, "ReduceMean", name + "/error", name, shape->second.size(),
           channel_axis(*shadow.layer, shape->second.size()));
    outputs.emplace_back(name, Dtype::Float32);
    layers.push_back(shadow.layer->name);
  }
  std::map<std::string, std::vector<double>> means;
  if (outputs.empty()) return means;
  for_each_result(subject, model, outputs, order, "mean error", [&](std::size_t i, std::span<const float> values) {
    std::vector<double>& sum = means[layers[i]];
    sum.resize(values.size());
    for (std::size_t c = 0; c < values.size(); ++c) {
      sum[c] += static_cast<double>(values[c]) / static_cast<double>(order.size());
    }
  });
  return means;
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

}  // namespace

std::map<std::string, Magnitudes> magnitudes(const Subject& subject, const std::set<std::string>& tensors,
                                             const std::map<std::string, Shape>& shapes,
                                             const std::vector<std::size_t>& order) {
  const std::map<std::string, const Layer*> readers = weighted_readers(subject);
  Model model = subject.model;
  std::vector<std::pair<std::string, Dtype>> outputs;
  std::vector<std::string> names;
  std::vector<bool> by_channel;
  for (const std::string& tensor : tensors) {
    const auto shape = shapes.find(tensor);
    if (shape == shapes.end() || shape->second.empty() || element_count(shape->second) == 0) continue;
    const std::size_t rank = shape->second.size();
    const auto reader = readers.find(tensor);
    by_channel.push_back(reader != readers.end() && rank >= 2);
    const std::string name = kChannel + tensor;
    add_node(*model.proto.mutable_graph(), "Abs", {tensor}, name + "/magnitude");
    reduce(model, "ReduceMax", name + "/magnitude", name, rank,
           by_channel.back() ? channel_axis(*reader->second, rank) : rank);
    outputs.emplace_back(name, Dtype::Float32);
    names.push_back(tensor);
  }
  std::map<std::string, Magnitudes> largest;
  if (outputs.empty()) return largest;
  for_each_result(subject, model, outputs, order, "magnitudes", [&](std::size_t i, std::span<const float> values) {
    Magnitudes& of = largest[names[i]];
    float most = 0;
    for (const float value : values) most = std::max(most, value);
    of.samples.push_back(most);
    if (!by_channel[i]) return;
    of.channels.resize(std::max(of.channels.size(), values.size()));
    for (std::size_t c = 0; c < values.size(); ++c) of.channels[c] = std::max(of.channels[c], values[c]);
  });
  return largest;
}

std::map<std::string, std::vector<float>> channel_magnitudes(const Subject& subject,
                                                             const std::map<std::string, Shape>& shapes,
                                                             const std::vector<std::size_t>& order) {
  std::set<std::string> tensors;
  for (const auto& [tensor, reader] : weighted_readers(subject)) tensors.insert(tensor);
  std::map<std::string, std::vector<float>> channels;
  for (auto& [tensor, seen] : magnitudes(subject, tensors, shapes, order)) {
    if (!seen.channels.empty()) channels.emplace(tensor, std::move(seen.channels));
  }
  return channels;
}

}  // namespace vernier
