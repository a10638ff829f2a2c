// Attention multiplies queries by keys and scales the sums down behind: before the scale they may be beyond float16.
// The power of two in the scale goes in front, where it costs no bit; what is left of the scale stays behind, and
// masks and softmax see what they saw.
//   before: softmax(c (Q K^T) + m)     after: softmax(c / p ((p Q) K^T) + m),  p = 2^floor(log2(c)), c < 1
// p goes into the weights and the bias that make Q or K alone, or into a Mul.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "model/graph_edit.h"
#include "model/graph_walk.h"
#include "model/operator_traits.h"
#include "numerics/grid.h"
#include "repairs/repair.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

/// The Mul or Div by a constant that alone reads the product of Q and K.
struct Scale {
  std::string product;  // the MatMul
  std::string node;
  std::string constant;
  float value = 1;  // of the constant
  bool divides = false;
  Shape shape;
  float factor() const { return divides ? 1 / value : value; }
};

/// The reason why there is none, empty when there is.
std::string read_scale(const Model& model, const GraphWalk& walk, const onnx::NodeProto& product, Scale& scale) {
  scale.product = product.name();
  const auto& readers = walk.readers(product.output(0));
  if (readers.size() != 1) return "it does not have exactly one reader";
  const onnx::NodeProto& node = *readers.front();
  scale.divides = node.op_type() == "Div" && node.input(0) == product.output(0);
  if (node.op_type() != "Mul" && !scale.divides)
    return fmt::format("{} reads it, which is not a scale", node.op_type());
  scale.constant = node.input(node.input(0) == product.output(0) ? 1 : 0);
  const std::optional<Tensor> value = initializer(model, scale.constant);
  if (!value || value->dtype() != Dtype::Float32 || value->count() != 1 || value->shape().size() > 2) {
    return "its scale is not a constant number";
  }
  scale.node = node.name();
  scale.value = value->floats()[0];
  scale.shape = value->shape();
  if (!(scale.factor() > 0) || scale.factor() > 0.5F || std::isinf(scale.value))
    return "its scale does not make values smaller";
  return {};
}

/// Constants that all of `tensor` is proportional to, for one reader alone; empty: none are known.
std::vector<std::string> constants_in_front(const Model& model, const GraphWalk& walk, std::string tensor) {
  std::vector<std::string> found;
  const auto take = [&](const onnx::NodeProto& node, int input) {
    if (input >= node.input_size() || node.input(input).empty()) return true;
    const std::string& name = node.input(input);
    const std::optional<Tensor> value = initializer(model, name);
    if (!value || value->dtype() != Dtype::Float32 || walk.readers(name).size() != 1) return false;
    found.push_back(name);
    return true;
  };
  for (;;) {
    const onnx::NodeProto* maker = walk.maker(tensor);
    const auto& outputs = model.proto.graph().output();
    const bool is_output = std::ranges::any_of(outputs, [&](const auto& output) { return output.name() == tensor; });
    if (maker == nullptr || is_output || walk.readers(tensor).size() != 1) return {};
    if (has(*maker, Trait::Moves)) {
      if (maker->output_size() != 1) return {};  // a Split: the factor would reach its other parts
      tensor = maker->input(0);
      continue;
    }
    const std::string& op = maker->op_type();
    const int constant = maker->input_size() > 1 && is_initializer(model, maker->input(1)) ? 1 : 0;
    if (op == "Add") {
      if (!take(*maker, constant)) return {};
      tensor = maker->input(1 - constant);
      continue;
    }
    const bool weighted = op == "Gemm" || op == "Conv";
    if (op != "MatMul" && op != "Mul" && !weighted) return {};
    const bool all = weighted ? take(*maker, 1) && take(*maker, 2) : take(*maker, constant);
    return all ? found : std::vector<std::string>{};
  }
}

void multiply(Model& model, const std::string& name, float factor) {
  const Tensor old = *initializer(model, name);
  Tensor scaled(Dtype::Float32, old.shape());
  std::ranges::transform(old.floats(), scaled.mutable_floats().begin(), [&](float v) { return v * factor; });
  set_initializer(model, *owner_of_initializer(model, name), name, scaled);
}

int index_of(const onnx::GraphProto& graph, const std::string& name) {
  for (int i = 0; i < graph.node_size(); ++i) {
    if (graph.node(i).name() == name) return i;
  }
  return -1;
}

void move_scale(Model& model, const Scale& scale, const std::vector<std::string>& constants, float power) {
  onnx::GraphProto& graph = *model.proto.mutable_graph();
  NamePool names(model);
  for (const std::string& name : constants) multiply(model, name, power);
  const float rest = scale.divides ? scale.value * power : scale.value / power;
  const int behind = index_of(graph, scale.node);
  if (rest == 1) {
    const std::string result = graph.node(behind).output(0);
    graph.mutable_node(index_of(graph, scale.product))->set_output(0, result);
    remove_nodes(graph, [&](const onnx::NodeProto& node) { return node.name() == scale.node; });
  } else {
    const std::string left = names.unique(scale.node + ".left");  // others may share the constant
    set_initializer(model, graph, left, Tensor::of(scale.shape, {&rest, 1}));
    for (std::string& input : *graph.mutable_node(behind)->mutable_input()) {
      if (input == scale.constant) input = left;
    }
  }
  if (constants.empty()) {
    const int at = index_of(graph, scale.product);
    onnx::NodeProto product = graph.node(at);
    onnx::NodeProto mul;
    mul.set_op_type("Mul");
    mul.set_name(names.unique(scale.product + ".scale"));
    mul.add_input(product.input(0));
    mul.add_input(names.unique(scale.product + ".power"));
    mul.add_output(names.unique(product.input(0) + ".scaled"));
    set_initializer(model, graph, mul.input(1), Tensor::of({}, {&power, 1}));
    product.set_input(0, mul.output(0));
    replace_node(graph, at, {mul, product});
  }
  remove_leftovers(model);
}

}  // namespace

std::vector<Proposal> scale_attentions(const Network& network, int) {
  std::vector<Proposal> proposals;
  const Model& model = network.model;
  const GraphWalk walk(model);
  for (const onnx::NodeProto& node : model.proto.graph().node()) {
    if (node.op_type() != "MatMul" || network.plan.format_of(node.name()) != Format::Float16) continue;
    if (is_initializer(model, node.input(0)) || is_initializer(model, node.input(1))) continue;
    const auto range = network.ranges.find(node.output(0));
    if (range == network.ranges.end() || range->second.absmax() <= kLargestFloat16) continue;
    const float largest = range->second.absmax();
    Scale scale;
    Proposal proposal;
    proposal.layers = {node.name()};
    proposal.why_not = read_scale(model, walk, node, scale);
    if (proposal.why_not.empty() && largest * scale.factor() > kLargestFloat16) {
      proposal.why_not = fmt::format("it reaches {:.3g} after its scale too", largest * scale.factor());
    }
    if (proposal.why_not.empty()) {
      const float power = std::exp2(std::floor(std::log2(scale.factor())));
      std::vector<std::string> constants;
      for (const std::string& factor : node.input()) {
        if (constants.empty()) constants = constants_in_front(model, walk, factor);
      }
      proposal.layers.push_back(scale.node);
      proposal.what = fmt::format("sums up to {:.4g} are scaled by {:g} first, {}", largest, power,
                                  constants.empty() ? "by a Mul" : fmt::format("in '{}'", printable(constants.back())));
      proposal.rewrite = [=](Model& changed) { move_scale(changed, scale, constants, power); };
    }
    proposals.push_back(std::move(proposal));
  }
  return proposals;
}

}  // namespace vernier
