#include "analysis/quantizer_loss.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "engines/onnxruntime/operators.h"
#include "plan/round_node.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

onnx::NodeProto node_of(const char* op_type, const std::string& a, const std::string& b, const std::string& output) {
  onnx::NodeProto node;
  node.set_op_type(op_type);
  node.set_name(output);
  node.add_input(a);
  node.add_input(b);
  node.add_output(output);
  return node;
}

/// Ends of a grid as tensors that broadcast to what it rounds.
std::pair<Tensor, Tensor> end_tensors(const QuantizedTensor& quantized) {
  const QuantParams& params = quantized.params;
  Shape shape;
  if (params.scale.size() > 1) {
    shape.assign(static_cast<std::size_t>(quantized.rank - params.axis), 1);
    shape.front() = static_cast<std::int64_t>(params.scale.size());
  }
  std::vector<float> low;
  std::vector<float> high;
  for (std::size_t i = 0; i < params.scale.size(); ++i) {
    const auto [least, most] = ends_of(params, i);
    low.push_back(least);
    high.push_back(most);
  }
  return {Tensor::of(shape, low), Tensor::of(shape, high)};
}

}  // namespace

std::pair<float, float> ends_of(const QuantParams& params, std::size_t index) {
  const GridEnds ends = grid_ends(params, index);
  return {static_cast<float>(ends.low), static_cast<float>(ends.high)};
}

GridLoss grid_loss(const QuantParams& params, std::span<const float> values, std::span<const float> rounded) {
  GridLoss loss;
  accumulate_range(values, loss.range);
  loss.count = static_cast<std::int64_t>(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double error = static_cast<double>(values[i]) - static_cast<double>(rounded[i]);
    loss.energy += static_cast<double>(values[i]) * static_cast<double>(values[i]);
    bool clipped = false;
    if (params.scale.size() == 1) {
      const auto [low, high] = ends_of(params);
      clipped = values[i] < low || values[i] > high;
    }
    (clipped ? loss.clip_energy : loss.round_energy) += error * error;
  }
  return loss;
}

std::vector<GridLoss> measure_grids(const Subject& subject, const SimulatedFile& file,
                                    const std::map<std::string, Bounds>& activations, bool rounded) {
  Model model = file.model;
  onnx::GraphProto& graph = *model.proto.mutable_graph();
  std::map<std::string, onnx::NodeProto*> rounds;  // by what they write
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    if (node.domain() == kDomain && node.op_type() == "Round") rounds[node.output(0)] = &node;
  }
  std::vector<onnx::NodeProto> added;
  std::vector<GridLoss> losses(file.quantized.size());
  std::vector<std::size_t> measured;
  for (std::size_t i = 0; i < file.quantized.size(); ++i) {
    const QuantizedTensor& quantized = file.quantized[i];
    const auto round = rounds.find(quantized.output);
    if (quantized.quantizer.empty() || round == rounds.end() || quantized.params.dynamic) continue;
    const bool per_channel = quantized.params.scale.size() > 1;
    if (per_channel &&
        (quantized.params.block > 0 || quantized.params.axis < 0 || quantized.rank <= quantized.params.axis))
      continue;
    const auto slot = static_cast<std::int64_t>(measured.size());
    measured.push_back(i);
    const std::string y = quantized.output;
    const auto clamped = [&](const std::string& from, const std::string& to, const Tensor& low, const Tensor& high) {
      set_initializer(model, graph, to + "/low", low);
      set_initializer(model, graph, to + "/high", high);
      added.push_back(node_of("Max", from, to + "/low", to + "/above"));
      added.push_back(node_of("Min", to + "/above", to + "/high", to));
    };
    std::string x = round->second->input(0);
    if (const auto bounds = activations.find(y); bounds != activations.end()) {
      clamped(x, y + "/active", Tensor::of({}, std::array{bounds->second.first}),
              Tensor::of({}, std::array{bounds->second.second}));
      x = y + "/active";
    }
    round->second->set_output(0, y + "/rounded");
    added.push_back(observe_node(x, y + "/seen", slot));
    const auto [low, high] = end_tensors(quantized);
    clamped(y + "/seen", y + "/clipped", low, high);
    added.push_back(compare_node(y + "/clipped", y + "/rounded", y + "/clipped/on", y + "/on", 2 * slot));
    added.push_back(compare_node(y + "/seen", y + "/on", rounded ? y + "/seen/on" : y, rounded ? y : y + "/rounded/on",
                                 2 * slot + 1));
  }
  if (measured.empty()) return losses;
  for (onnx::NodeProto& node : added) *graph.add_node() = std::move(node);
  const Recorder empty(2 * measured.size(), measured.size(), 0);
  Recorder total = empty;
  const Session session = subject.session(model);
  run_samples(subject, session, all_samples(subject), empty, "quantizers", [&](SampleResult result) {
    total += result.recorder;
    return true;
  });
  for (std::size_t s = 0; s < measured.size(); ++s) {
    GridLoss& loss = losses[measured[s]];
    const ErrorStats& within = total.errors[2 * s];
    const ErrorStats& both = total.errors[2 * s + 1];
    loss.energy = both.ref_energy;
    loss.round_energy = within.error_energy;
    loss.clip_energy = std::max(0.0, both.error_energy - within.error_energy);
    loss.count = both.count;
    loss.range = total.ranges[s];
  }
  return losses;
}

}  // namespace vernier
