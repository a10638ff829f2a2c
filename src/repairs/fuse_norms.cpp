// A norm in pieces rounds the mean, the differences, their squares and the variance, and overflows where a value that
// is squared is beyond 255. As one operator it is computed in float32 between its rounded input and result: by ONNX
// Runtime, by TensorRT's normalization layer, and in simulation here.
//   before: d = x - mean(x);  d / sqrt(mean(d^2) + e) g + b     after: LayerNormalization(x, g, b), epsilon e
//   before: x / sqrt(mean(x^2) + e) g                           after: RMSNormalization(x, g), epsilon e
// Over the last dimension, with g and b of one value for each place in it, or without them. Rounds: LayerNorms, RMS
// norms. The operator of the latter is much younger: a model that cannot be raised that far keeps them in pieces, and
// scale_squares keeps their squares in float16.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "model/graph_edit.h"
#include "repairs/norm_in_pieces.h"
#include "repairs/repair.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

const char* operator_of(const WholeNorm& norm) {
  return norm.subtracts_mean ? "LayerNormalization" : "RMSNormalization";
}
int first_opset_of(const WholeNorm& norm) { return norm.subtracts_mean ? 17 : 23; }

void fuse_norm(Model& model, const std::string& square) {
  WholeNorm norm;
  const onnx::NodeProto* node = find_node(std::as_const(model).proto.graph(), square);
  if (node == nullptr || !read_whole_norm(model, GraphWalk(model), infer_types(model), *node, norm).empty()) return;
  onnx::GraphProto& graph = *model.proto.mutable_graph();
  NamePool names(model);
  const auto flat = [&](const std::string& constant, const char* suffix, float otherwise) {
    const std::string name = names.unique(norm.last + suffix);
    Tensor value(Dtype::Float32, {norm.width});
    for (std::int64_t i = 0; i < norm.width; ++i) value.mutable_floats()[static_cast<std::size_t>(i)] = otherwise;
    if (!constant.empty()) {
      const Tensor old = *initializer(model, constant);
      std::ranges::copy(old.floats(), value.mutable_floats().begin());
    }
    set_initializer(model, graph, name, value);
    return name;
  };
  onnx::NodeProto fused;
  fused.set_op_type(operator_of(norm));
  fused.set_name(norm.last);
  fused.add_input(norm.input);
  fused.add_input(flat(norm.scale, ".scale", 1));
  if (!norm.bias.empty()) fused.add_input(flat(norm.bias, ".bias", 0));
  fused.add_output(norm.output);
  set_attribute(fused, "axis", std::int64_t{-1});
  set_attribute(fused, "epsilon",
                norm.pieces.epsilon.empty() ? 0.0F : initializer(model, norm.pieces.epsilon)->floats()[0]);
  for (int i = 0; i < graph.node_size(); ++i) {
    if (graph.node(i).name() != norm.last) continue;
    replace_node(graph, i, {fused});
    break;
  }
  norm.nodes.erase(norm.last);
  remove_nodes(graph, [&](const onnx::NodeProto& each) { return norm.nodes.contains(each.name()); });
  remove_leftovers(model);
}

}  // namespace

std::vector<Proposal> fuse_norms(const Network& network, int round) {
  std::vector<Proposal> proposals;
  const GraphWalk walk(network.model);
  std::map<std::string, ValueType> types;
  for (const onnx::NodeProto& node : network.model.proto.graph().node()) {
    if ((node.op_type() != "Pow" && node.op_type() != "Mul") || !squares(network.model, node)) continue;
    const Format format = network.plan.format_of(node.name());
    if (format != Format::Float16 && format != Format::BFloat16) continue;
    const onnx::NodeProto* behind = only_reader(walk, node.output(0));
    if (behind == nullptr || behind->op_type() != "ReduceMean") continue;  // no norm
    if (types.empty()) types = infer_types(network.model);
    WholeNorm norm;
    Proposal proposal;
    proposal.why_not = read_whole_norm(network.model, walk, types, node, norm);
    proposal.layers = {node.name()};
    const auto inner_output = [&](const onnx::NodeProto& each) {
      return norm.nodes.contains(each.name()) && each.name() != norm.last &&
             std::ranges::any_of(network.model.proto.graph().output(),
                                 [&](const auto& output) { return output.name() == each.output(0); });
    };
    if (proposal.why_not.empty() && std::ranges::any_of(network.model.proto.graph().node(), inner_output)) {
      proposal.why_not = "one of its nodes is an output of the network";
    }
    // A network that cannot be raised for its RMS norms must not lose the others for it: they come in a round each.
    if (proposal.why_not.empty() && norm.subtracts_mean != (round == 0)) continue;
    if (proposal.why_not.empty()) {
      proposal.layers.assign(norm.nodes.begin(), norm.nodes.end());
      proposal.opset = first_opset_of(norm);
      if (!norm.subtracts_mean) proposal.otherwise = "scale-square keeps its squares in FP16";
      proposal.by_output = true;
      proposal.what = fmt::format("{} become {} '{}' over {} values", plural(norm.nodes.size(), "node"),
                                  operator_of(norm), printable(norm.last), norm.width);
      proposal.rewrite = [square = node.name()](Model& model) { fuse_norm(model, square); };
    }
    proposals.push_back(std::move(proposal));
  }
  return proposals;
}

}  // namespace vernier
