#include "jobs/verify/tf32_reads.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/beside_known.h"
#include "analysis/figures.h"
#include "analysis/run_tensors.h"
#include "base/text.h"
#include "model/graph_edit.h"
#include "model/operator_traits.h"
#include "model/output_channels.h"
#include "numerics/metrics.h"
#include "plan/round_node.h"
#include "report/text/numbers.h"
#include "vernier/arithmetic.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

constexpr std::size_t kMostLayers = 8;
constexpr double kHarmless = 1e-5;  // 50 dB
constexpr double kApart = 2;        // times the noise: 3 dB
constexpr double kExact = 2048;     // TF32 has eleven significant bits: it knows all whole numbers up to here

double noise_of(const RunFigures& run) {
  double worst = 0;
  for (const OutputFigure& output : run.outputs) worst = std::max(worst, noise_of_db(output.sqnr_db));
  return worst;
}

/// Weighted layers that read other inputs in one graph than in the other.
std::vector<std::string> readers_of_tf32(const Model& with, const Model& without) {
  std::map<std::string, const onnx::NodeProto*> nodes = nodes_by_name(without.proto.graph());
  std::vector<std::string> names;
  for (const onnx::NodeProto& node : with.proto.graph().node()) {
    const auto found = nodes.find(node.name());
    if (!has_weight_axis(node) || found == nodes.end() || found->second->input_size() < 2) continue;
    if (node.input(0) != found->second->input(0) || node.input(1) != found->second->input(1)) {
      names.push_back(node.name());
    }
  }
  return names;
}

/// `model` with that layer alone reading TF32.
Model reading_tf32(const Model& model, const std::string& layer) {
  Model changed = model;
  onnx::GraphProto& graph = *changed.proto.mutable_graph();
  google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
  nodes.Swap(graph.mutable_node());
  for (onnx::NodeProto& node : nodes) {
    if (node.name() == layer) {
      for (int i = 0; i < 2; ++i) {
        const std::string rounded = fmt::format("{}/{}/tf32", layer, i);
        *graph.add_node() = tf32_node(node.input(i), rounded);
        node.set_input(i, rounded);
      }
    }
    *graph.add_node() = std::move(node);
  }
  return changed;
}

/// The input of `layer` that holds whole numbers beyond what TF32 knows: its name and the largest; else nothing.
std::optional<std::pair<std::string, double>> large_whole_numbers(const Subject& subject, const Model& model,
                                                                  const std::string& layer) {
  const onnx::NodeProto& node = *nodes_by_name(model.proto.graph()).at(layer);
  Model copy = model;
  std::vector<std::string> inputs, tensors;
  for (int i = 0; i < 2; ++i) {
    if (is_initializer(model, node.input(i))) continue;
    inputs.push_back(node.input(i));
    tensors.push_back(fmt::format("tf32/{}", i));
    *copy.proto.mutable_graph()->add_node() = cast_node(node.input(i), tensors.back(), Dtype::Float32);
  }
  if (tensors.empty()) return std::nullopt;
  std::vector<std::size_t> few = all_samples(subject);
  few.resize(std::min<std::size_t>(few.size(), 4));
  std::vector<double> largest(tensors.size());
  std::vector<bool> whole(tensors.size(), true);
  run_tensors(subject, std::move(copy), tensors, few, [&](std::size_t, const std::vector<Tensor>& got) {
    for (std::size_t t = 0; t < got.size(); ++t) {
      for (const float value : got[t].floats()) {
        whole[t] = whole[t] && std::nearbyint(value) == value;
        largest[t] = std::max(largest[t], std::abs(static_cast<double>(value)));
      }
    }
    return true;
  });
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    if (whole[t] && largest[t] > kExact) return std::pair(inputs[t], largest[t]);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Note> tf32_reads(const Subject& subject, const SimulateWith& simulate, const RunFigures& plain,
                               const RunFigures& figures, const OutputStore* known) {
  const double all = noise_of(figures);
  if (all < kHarmless || all <= kApart * noise_of(plain)) return std::nullopt;  // both may be infinite
  std::optional<OutputStore> own;
  if (known == nullptr) known = &own.emplace(outputs_of_float(subject));
  const auto noise = [&](Model model) {
    return noise_of(figures_of(subject, run_beside_known(subject, std::move(model), *known).outputs, nullptr));
  };
  const Model sums_alone = simulate({Accumulate::Float16, /*tf32=*/false});
  if (noise(sums_alone) * kApart >= all) return std::nullopt;  // the sums make it
  const std::vector<std::string> readers = readers_of_tf32(simulate(kMeasuredArithmetic), sums_alone);
  if (readers.empty()) return std::nullopt;
  if (readers.size() > kMostLayers) return Note{"tf32-decides", {{"readers", readers.size()}}};
  std::string worst;
  double most = 0;
  for (const std::string& reader : readers) {
    const double one = noise(reading_tf32(sums_alone, reader));
    if (one <= most) continue;
    most = one;
    worst = reader;
  }
  if (worst.empty()) return Note{"tf32-decides", {}};
  Note note{"tf32-decides", {{"layer", worst}, {"db", db_text(db_of(most))}}};
  if (const auto numbers = large_whole_numbers(subject, sums_alone, worst)) {
    note.fields.emplace_back("input", numbers->first);
    note.fields.emplace_back("largest", numbers->second);
    note.fields.emplace_back("exact_up_to", kExact);
  }
  return note;
}

}  // namespace vernier
