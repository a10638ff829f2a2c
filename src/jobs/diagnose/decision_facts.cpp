#include "jobs/diagnose/decision_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "analysis/run_tensors.h"
#include "model/graph_edit.h"
#include "model/operator_traits.h"
#include "numerics/metrics.h"
#include "plan/lower_simulated.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

struct Pick {
  std::string node;
  std::string op_type;
  std::string indices;  // its output with the places
};

std::vector<Pick> picks_of(const Model& model) {
  std::vector<Pick> picks;
  for (const onnx::NodeProto& node : model.proto.graph().node()) {
    if (!has(node, Trait::GivesPlaces)) continue;
    const int places = has(node, Trait::Selects) ? 1 : 0;
    if (places >= node.output_size() || node.output(places).empty()) continue;
    picks.push_back({node.name(), node.op_type(), node.output(places)});
  }
  return picks;
}

/// For each pick and sample what it reads, as float32, and its places, as float32 too.
std::vector<std::vector<Tensor>> values_of(const Subject& subject, Model model, const std::vector<Pick>& picks,
                                           const std::vector<std::size_t>& order) {
  std::vector<std::string> tensors;
  onnx::GraphProto& graph = *model.proto.mutable_graph();
  const auto as_float = [&](const std::string& tensor, const std::string& name) {
    *graph.add_node() = cast_node(tensor, name, Dtype::Float32);
    tensors.push_back(name);
  };
  std::unordered_map<std::string, std::string> read_by;  // in a lowered graph not what the original reads
  for (const onnx::NodeProto& node : graph.node()) {
    if (node.input_size() > 0) read_by[node.name()] = node.input(0);
  }
  for (std::size_t i = 0; i < picks.size(); ++i) {
    as_float(read_by.at(picks[i].node), fmt::format("picked/{}/from", i));
    as_float(picks[i].indices, fmt::format("picked/{}", i));
  }
  std::vector<std::vector<Tensor>> values;
  run_tensors(subject, std::move(model), tensors, order, [&](std::size_t, const std::vector<Tensor>& got) {
    values.push_back(got);
    return true;
  });
  return values;
}

}  // namespace

std::vector<DecisionFacts> decision_facts(const Subject& subject, const Plan& all_low,
                                          const std::vector<std::size_t>& order) {
  const std::vector<Pick> picks = picks_of(subject.model);
  if (picks.empty()) return {};
  RoundedWeights weights;
  const auto exact = values_of(subject, subject.model, picks, order);
  const auto low = values_of(subject, lower_simulated(subject.model, subject.layers, all_low, weights), picks, order);
  std::vector<DecisionFacts> facts;
  for (std::size_t i = 0; i < picks.size(); ++i) {
    ErrorStats read;
    std::int64_t all = 0;
    std::int64_t changed = 0;
    for (std::size_t sample = 0; sample < exact.size() && sample < low.size(); ++sample) {
      const std::vector<Tensor>& a = exact[sample];
      const std::vector<Tensor>& b = low[sample];
      if (a[2 * i].shape() != b[2 * i].shape() || a[2 * i + 1].shape() != b[2 * i + 1].shape()) continue;
      accumulate_error(a[2 * i].floats(), b[2 * i].floats(), read);
      const auto places = a[2 * i + 1].floats();
      const auto others = b[2 * i + 1].floats();
      for (std::size_t k = 0; k < places.size(); ++k) changed += places[k] != others[k] ? 1 : 0;
      all += static_cast<std::int64_t>(places.size());
    }
    if (all == 0 || read.ref_energy == 0 || !read.finite()) continue;
    facts.push_back({picks[i].node, picks[i].op_type, static_cast<double>(changed) / static_cast<double>(all),
                     read.error_energy / read.ref_energy});
  }
  return facts;
}

}  // namespace vernier
