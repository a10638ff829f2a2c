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
#include <optional>
#include <set>
#include <span>
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

struct Norm {
  bool subtracts_mean = true;  // false: an RMS norm
  std::string input;
  std::string output;           // of the last node
  std::string scale, bias;      // initializers; empty: none
  std::string last;             // the node whose name stays
  std::int64_t width = 0;       // of the last dimension; 0: not known
  std::set<std::string> nodes;  // all of them, `last` among them
  NormInPieces pieces;

  const char* op_type() const { return subtracts_mean ? "LayerNormalization" : "RMSNormalization"; }
  int opset() const { return subtracts_mean ? 17 : 23; }  // the operator's first
};

/// The reduction goes over the last dimension of a tensor of `rank` and keeps it; rank 0: not known.
bool over_last(const Model& model, const onnx::NodeProto& reduce, std::size_t rank) {
  if (reduce.op_type() != "ReduceMean" || attribute_int(reduce, "keepdims", 1) != 1) return false;
  std::vector<std::int64_t> axes = attribute_ints(reduce, "axes");
  if (reduce.input_size() > 1) {
    const std::optional<Tensor> constant = initializer(model, reduce.input(1));
    if (!constant || constant->dtype() != Dtype::Int64) return false;
    const std::span<const std::int64_t> values = constant->int64s();
    axes.assign(values.begin(), values.end());
  }
  return axes.size() == 1 && (axes[0] == -1 || (rank > 0 && axes[0] == static_cast<std::int64_t>(rank) - 1));
}

/// The constant of a Mul or Add behind `tensor` that has one value for each place of the last dimension; null: none.
const onnx::NodeProto* constant_step(const Model& model, const GraphWalk& walk, const std::string& tensor,
                                     const char* op_type, std::int64_t& width, std::string& constant) {
  const onnx::NodeProto* next = only_reader(walk, tensor);
  if (next == nullptr || next->op_type() != op_type || next->input(0) == next->input(1)) return nullptr;
  const std::string& name = next->input(next->input(0) == tensor ? 1 : 0);
  const std::optional<Tensor> value = initializer(model, name);
  if (!value || value->dtype() != Dtype::Float32 || value->shape().empty()) return nullptr;
  if (value->count() != value->shape().back() || (width > 0 && value->count() != width)) return nullptr;
  width = value->count();
  constant = name;
  return next;
}

/// The Sub that takes its own mean from a tensor and gives `x`; null: none.
const onnx::NodeProto* centring(const GraphWalk& walk, const std::string& x) {
  const onnx::NodeProto* difference = walk.maker(x);
  if (difference == nullptr || difference->op_type() != "Sub") return nullptr;
  const onnx::NodeProto* mean = walk.maker(difference->input(1));
  return mean != nullptr && mean->op_type() == "ReduceMean" && mean->input(0) == difference->input(0) ? difference
                                                                                                      : nullptr;
}

std::string read_whole_norm(const Model& model, const GraphWalk& walk, const std::map<std::string, ValueType>& types,
                            const onnx::NodeProto& square, Norm& norm) {
  if (std::string reason = read_norm(model, walk, square, norm.pieces); !reason.empty()) return reason;
  const onnx::NodeProto* difference = centring(walk, norm.pieces.x);
  norm.subtracts_mean = difference != nullptr;
  norm.input = norm.subtracts_mean ? difference->input(0) : norm.pieces.x;
  std::size_t rank = 0;
  if (const auto type = types.find(norm.input); type != types.end() && type->second.rank_known) {
    rank = type->second.shape.size();
    if (rank > 0 && type->second.shape.back() > 0) norm.width = type->second.shape.back();
  }
  if (!over_last(model, *only_reader(walk, square.output(0)), rank))
    return "it averages over other dimensions than the last";
  if (norm.pieces.scaled.size() != 1) return "its values are divided more than once";
  if (norm.subtracts_mean) {
    const onnx::NodeProto* mean = walk.maker(difference->input(1));
    if (!over_last(model, *mean, rank)) return "it averages over other dimensions than the last";
    if (walk.readers(difference->input(1)).size() != 1) return "something else reads its mean";
    norm.nodes = {mean->name(), difference->name()};
  }
  norm.nodes.insert({norm.pieces.square, norm.pieces.mean, norm.pieces.root, norm.pieces.scaled.front()});
  if (!norm.pieces.add.empty()) norm.nodes.insert(norm.pieces.add);
  norm.nodes.insert(norm.pieces.inverse.begin(), norm.pieces.inverse.end());
  for (const onnx::NodeProto* reader : walk.readers(norm.pieces.x)) {
    if (norm.subtracts_mean && !norm.nodes.contains(reader->name())) return "something else reads its differences";
  }
  const onnx::NodeProto* last = nullptr;
  for (const onnx::NodeProto& node : model.proto.graph().node()) {
    if (node.name() == norm.pieces.scaled.front()) last = &node;
  }
  if (const auto* mul = constant_step(model, walk, last->output(0), "Mul", norm.width, norm.scale)) {
    last = mul;
    norm.nodes.insert(mul->name());
    const auto* add =
        norm.subtracts_mean ? constant_step(model, walk, last->output(0), "Add", norm.width, norm.bias) : nullptr;
    if (add != nullptr) {
      last = add;
      norm.nodes.insert(add->name());
    }
  }
  if (norm.width == 0) return "the size of its last dimension is not known";
  norm.last = last->name();
  norm.output = last->output(0);
  return {};
}

void fuse_norm(Model& model, const std::string& square) {
  Norm norm;
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
  fused.set_op_type(norm.op_type());
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
    Norm norm;
    Proposal proposal;
    proposal.why_not = read_whole_norm(network.model, walk, types, node, norm);
    proposal.layers = {node.name()};
    const auto inner_output = [&](const onnx::NodeProto& each) {
      return norm.nodes.contains(each.name()) && each.name() != norm.last &&
             std::ranges::any_of(network.model.proto.graph().output(),
                                 [&](const auto& output) { return output.name() == each.output(0); });
    };
    if (proposal.why_not.empty() && std::ranges::any_of(network.model.proto.graph().node(), inner_output)) {
      proposal.why_not = "one of its pieces is an output of the network";
    }
    // A network that cannot be raised for its RMS norms must not lose the others for it: they come in a round each.
    if (proposal.why_not.empty() && norm.subtracts_mean != (round == 0)) continue;
    if (proposal.why_not.empty()) {
      proposal.layers.assign(norm.nodes.begin(), norm.nodes.end());
      proposal.opset = norm.opset();
      if (!norm.subtracts_mean) proposal.otherwise = "scale-square keeps its squares in float16";
      proposal.by_output = true;
      proposal.what = fmt::format("{} become {} '{}' over {} values", plural(norm.nodes.size(), "node"), norm.op_type(),
                                  printable(norm.last), norm.width);
      proposal.rewrite = [square = node.name()](Model& model) { fuse_norm(model, square); };
    }
    proposals.push_back(std::move(proposal));
  }
  return proposals;
}

}  // namespace vernier
