// A norm squares its values: beyond 255 the square is no float16. The quotient does not change when the values are
// divided by a power of two first, and the epsilon by its square.
//   before: x / sqrt(mean(x^2) + e)     after: x' / sqrt(mean(x'^2) + e / s^2),  x' = x / s
// Norms in pieces only: Pow or Mul, ReduceMean or ReduceSum, Add of a constant (or none), Sqrt, Div or Reciprocal and
// Mul. A LayerNorm is the same with x less its mean.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "model/graph_edit.h"
#include "numerics/grid.h"
#include "repairs/norm_in_pieces.h"
#include "repairs/repair.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

void rewrite_norm(Model& model, const NormInPieces& norm, float scale) {
  onnx::GraphProto& graph = *model.proto.mutable_graph();
  NamePool names(model);
  const std::string factor = names.unique(norm.square + ".factor");
  const std::string small = names.unique(norm.x + ".scaled");
  const float inverse = 1 / scale;
  set_initializer(model, graph, factor, Tensor::of({}, {&inverse, 1}));
  std::string epsilon;
  if (!norm.epsilon.empty()) {
    const Tensor old = *initializer(model, norm.epsilon);
    const float value = old.floats()[0] / (scale * scale);
    epsilon = names.unique(norm.epsilon + ".scaled");
    set_initializer(model, graph, epsilon, Tensor::of(old.shape(), {&value, 1}));
  }
  int place = -1;
  for (int i = 0; i < graph.node_size(); ++i) {
    onnx::NodeProto& node = *graph.mutable_node(i);
    const bool square = node.name() == norm.square;
    if (square) place = i;
    if (square || std::ranges::find(norm.scaled, node.name()) != norm.scaled.end()) {
      for (std::string& input : *node.mutable_input()) {
        if (input == norm.x) input = small;
      }
    }
    if (node.name() == norm.add) {
      for (std::string& input : *node.mutable_input()) {
        if (input == norm.epsilon) input = epsilon;
      }
    }
  }
  onnx::NodeProto divide;
  divide.set_op_type("Mul");
  divide.set_name(names.unique(norm.square + ".scale"));
  divide.add_input(norm.x);
  divide.add_input(factor);
  divide.add_output(small);
  const onnx::NodeProto square = graph.node(place);
  replace_node(graph, place, {divide, square});
}

}  // namespace

std::vector<Proposal> scale_squares(const Network& network, int) {
  std::vector<Proposal> proposals;
  const GraphWalk walk(network.model);
  for (const Layer& layer : network.layers) {
    const onnx::NodeProto* node =
        layer.graph.empty() && (layer.op_type == "Pow" || layer.op_type == "Mul") ? network.node(layer.name) : nullptr;
    if (node == nullptr || !squares(network.model, *node)) continue;
    if (network.plan.format_of(layer.name) != Format::Float16) continue;
    const auto range = network.ranges.find(node->input(0));
    if (range == network.ranges.end()) continue;
    const float largest = range->second.absmax();
    if (largest * largest <= kLargestFloat16) continue;
    Proposal proposal;
    NormInPieces norm;
    proposal.why_not = read_norm(network.model, walk, *node, norm);
    proposal.layers = {layer.name};
    if (proposal.why_not.empty()) {
      const float scale = std::exp2(std::ceil(std::log2(largest / 128)));
      proposal.layers.insert(proposal.layers.end(), norm.scaled.begin(), norm.scaled.end());
      proposal.what = fmt::format("values up to {:.4g} are divided by {:g} before they are squared", largest, scale);
      proposal.rewrite = [norm, scale](Model& model) { rewrite_norm(model, norm, scale); };
    }
    proposals.push_back(std::move(proposal));
  }
  return proposals;
}

}  // namespace vernier
