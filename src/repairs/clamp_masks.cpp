// A mask adds a number such as -1e9 to the logits that softmax must not see. Beyond the largest float16 it becomes
// -inf; a row that is masked as a whole then gives NaN, and so do -inf - (-inf) and 0 * -inf, where the mask is made in
// the network. Inside the format the mask still turns into exactly 0, as long as it is lower than every logit by more
// than 104 (exp underflows in float32).
//   before: softmax(x + m), m in {0, -1e9}                   after: softmax(x + m'), m' in {0, -16384}
//           softmax(x + (1 - k) * -1e9), k in {0, 1}                softmax(x + (1 - k) * -16384)
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <set>
#include <span>
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

constexpr float kMask = 16384.0F;  // a quarter of what float16 holds: two masks and logits may be added

/// What becomes of a constant: the layers that it passes, and the softmax behind them that ignores how large it is.
class MaskPath {
 public:
  MaskPath(const GraphWalk& walk, const onnx::GraphProto& graph) : walk_(walk) {
    for (const onnx::ValueInfoProto& output : graph.output()) given_out_.insert(output.name());
  }

  void follow(const std::string& tensor) {
    if (given_out_.contains(tensor)) why_not = fmt::format("'{}' is an output of the network", printable(tensor));
    for (const onnx::NodeProto* reader : walk_.readers(tensor)) follow_into(*reader, tensor);
  }

  std::vector<std::string> layers;
  std::string softmax;
  bool turns = false;  // its sign may change on the way
  std::string why_not;

 private:
  void follow_into(const onnx::NodeProto& node, const std::string& tensor) {
    if (!seen_.insert(node.name() + '\n' + tensor).second) return;
    const std::string& op = node.op_type();
    const bool first = node.input(0) == tensor;
    if (op == "Softmax") {
      softmax = node.name();
    } else if (first && has(node, Trait::Moves | Trait::Fills)) {
      for (const std::string& moved : node.output()) follow(moved);
    } else if (op == "Add" || op == "Max" || op == "Mul" || op == "Sub" || (op == "Div" && first) ||
               (op == "Where" && !first)) {
      turns = turns || op == "Mul" || op == "Sub" || op == "Div";
      layers.push_back(node.name());
      follow(node.output(0));
    } else if (has(node, Trait::Joins) || (op == "ScatterND" && node.input(1) != tensor)) {
      follow(node.output(0));
    } else if (op != "Equal") {  // which asks where a mask is 0
      layers.push_back(node.name());
      why_not = fmt::format("'{}' ({}) reads it, and its result reaches layers other than a Softmax",
                            printable(node.name()), op);
    }
  }

  const GraphWalk& walk_;
  std::set<std::string> given_out_;
  std::set<std::string> seen_;
};

std::string refusal(std::span<const float> values, const MaskPath& path) {
  if (!path.why_not.empty()) return path.why_not;
  if (path.softmax.empty()) return "no Softmax reads its result";
  const bool other = std::ranges::any_of(
      values, [&](float v) { return std::isnan(v) || (v > kLargestFloat16 && !path.turns) || v == INFINITY; });
  return other ? "the constant has values that are not a mask" : "";
}

float clamped(float value) { return std::abs(value) > kLargestFloat16 ? std::copysign(kMask, value) : value; }

Tensor clamped(const Tensor& old) {
  Tensor tensor(Dtype::Float32, old.shape());
  std::ranges::transform(old.floats(), tensor.mutable_floats().begin(), [](float value) { return clamped(value); });
  return tensor;
}

void clamp_fill(onnx::NodeProto& node) {
  for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
    if (attribute.name() == "value") *attribute.mutable_t() = proto_of(clamped(tensor_of(attribute.t())), {});
  }
}

Proposal propose(const std::string& tensor, std::span<const float> values, MaskPath path,
                 std::function<void(Model&)> rewrite) {
  const auto masked =
      static_cast<std::size_t>(std::ranges::count_if(values, [](float v) { return std::abs(v) > kLargestFloat16; }));
  Proposal proposal;
  proposal.why_not = refusal(values, path);
  proposal.layers = std::move(path.layers);
  if (!proposal.why_not.empty()) return proposal;
  const bool negative = std::ranges::any_of(values, [](float v) { return v < -kLargestFloat16; });
  proposal.what = fmt::format("{} of '{}' beyond FP16 set to {:g}: '{}' returns 0 for both", plural(masked, "value"),
                              printable(tensor), negative ? -kMask : kMask, printable(path.softmax));
  proposal.rewrite = std::move(rewrite);
  return proposal;
}

}  // namespace

std::vector<Proposal> clamp_masks(const Network& network, int) {
  const bool in_float16 = std::ranges::any_of(
      network.plan.layers, [](const PlannedLayer& layer) { return layer.format == Format::Float16; });
  std::vector<Proposal> proposals;
  if (!in_float16) return proposals;
  const GraphWalk walk(network.model);
  const onnx::GraphProto& graph = network.model.proto.graph();
  const auto consider = [&](const std::string& tensor, const Tensor& value, std::function<void(Model&)> rewrite) {
    if (value.dtype() != Dtype::Float32) return;
    if (std::ranges::none_of(value.floats(), [](float v) { return std::abs(v) > kLargestFloat16; })) return;
    MaskPath path(walk, graph);
    path.follow(tensor);
    Proposal proposal = propose(tensor, value.floats(), std::move(path), std::move(rewrite));
    // Large numbers that are no mask are nobody's question.
    const bool asked = std::ranges::any_of(value.floats(), [](float v) { return v < -kLargestFloat16; });
    if (!proposal.layers.empty() && (asked || proposal.why_not.empty())) proposals.push_back(std::move(proposal));
  };
  for (const std::string& name : initializer_names(network.model)) {
    consider(name, *initializer(network.model, name), [name](Model& model) {
      set_initializer(model, *owner_of_initializer(model, name), name, clamped(*initializer(model, name)));
    });
  }
  for (const onnx::NodeProto& node : graph.node()) {
    const onnx::AttributeProto* filled = node.op_type() == "ConstantOfShape" ? find_attribute(node, "value") : nullptr;
    if (filled == nullptr) continue;
    consider(node.output(0), tensor_of(filled->t()), [name = node.name()](Model& model) {
      for (onnx::NodeProto& made : *model.proto.mutable_graph()->mutable_node()) {
        if (made.name() == name) clamp_fill(made);
      }
    });
  }
  return proposals;
}

}  // namespace vernier
