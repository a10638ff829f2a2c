#include "plan/angle_layers.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/elements.h"
#include "model/graph_walk.h"
#include "model/operator_traits.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

class Angles {
 public:
  Angles(const Model& model, const std::map<std::string, ValueType>& types)
      : model_(model), types_(types), walk_(model) {
    for (const InputInfo& input : model_inputs(model)) inputs_.insert(input.name);
  }

  /// Nodes up to each Sin and Cos of angles.
  std::set<std::string> nodes() {
    for (const onnx::NodeProto& node : model_.proto.graph().node()) {
      if (!is_onnx(node, {"Sin", "Cos"})) continue;
      const std::optional<Nodes> path = angles(node.input(0));
      if (!path) continue;
      found_.insert(path->begin(), path->end());
      found_.insert(node.name());
    }
    return std::move(found_);
  }

 private:
  using Nodes = std::set<std::string>;

  /// Behind what only moves its values; empty: not a constant.
  std::string constant(const std::string& tensor) const {
    if (is_initializer(model_, tensor)) return tensor;
    const onnx::NodeProto* const maker = walk_.maker(tensor);
    return maker != nullptr && has(*maker, Trait::Moves) ? constant(maker->input(0)) : std::string();
  }

  /// The input of a node of two that is not constant, where the other one is.
  std::optional<int> variable(const onnx::NodeProto& node) const {
    if (node.input_size() != 2) return std::nullopt;
    const bool first = !constant(node.input(0)).empty(), second = !constant(node.input(1)).empty();
    return first == second ? std::nullopt : std::optional(first ? 1 : 0);
  }

  Shape shape_of(const std::string& tensor) const {
    const auto type = types_.find(tensor);
    return type == types_.end() ? Shape() : type->second.shape;
  }

  /// Each element of the other input with each of several constants.
  bool is_outer_product(const onnx::NodeProto& node, int variable) const {
    const Shape shape = shape_of(constant(node.input(1 - variable)));
    const bool several = std::ranges::any_of(shape, [](std::int64_t size) { return size > 1; });
    if (!several) return false;
    if (is_onnx(node, {"Mul", "Div"})) return !is_onnx(node, "Div") || variable == 0;
    if (is_onnx(node, "MatMul")) {
      const std::string& frequencies = node.input(1 - variable);
      const Shape read = shape_of(frequencies);
      return read.size() > 1 && read[read.size() - (variable == 0 ? 2 : 1)] == 1;
    }
    if (!is_onnx(node, "Einsum") || shape.size() != 1) return false;
    // A label that both have is summed over.
    const onnx::AttributeProto* const equation = find_attribute(node, "equation");
    if (equation == nullptr) return false;
    const std::string terms = equation->s().substr(0, equation->s().find("->"));
    const std::string own = variable == 0 ? terms.substr(terms.find(',') + 1) : terms.substr(0, terms.find(','));
    const std::size_t label = own.find_first_not_of(' ');
    return label != std::string::npos && std::ranges::count(terms, own[label]) == 1;
  }

  /// Nodes that make positions of what the graph reads; nothing: `tensor` holds something else.
  std::optional<Nodes> positions(const std::string& tensor) const {
    if (inputs_.contains(tensor)) return Nodes();
    const onnx::NodeProto* const maker = walk_.maker(tensor);
    if (maker == nullptr) return std::nullopt;
    if (is_onnx(*maker, "Range")) return Nodes();
    if (is_onnx(*maker, "Cast")) {
      const auto type = types_.find(maker->input(0));
      if (type != types_.end() && is_integer(type->second.dtype)) return Nodes();
      return positions(maker->input(0));
    }
    const bool moves = has(*maker, Trait::Moves);
    const std::optional<int> scaled = is_onnx(*maker, {"Mul", "Div", "Add", "Sub"}) ? variable(*maker) : std::nullopt;
    if (!moves && !scaled) return std::nullopt;
    return with(*maker, positions(maker->input(moves ? 0 : *scaled)));
  }

  /// The same of angles: positions times frequencies, which sums and factors may follow.
  std::optional<Nodes> angles(const std::string& tensor) const {
    const onnx::NodeProto* const maker = walk_.maker(tensor);
    if (maker == nullptr) return std::nullopt;
    if (has(*maker, Trait::Moves) || is_onnx(*maker, {"Neg", "Concat", "Cast"})) {
      return with(*maker, angles(maker->input(0)));
    }
    if (!is_onnx(*maker, {"Mul", "Div", "Add", "Sub", "MatMul", "Einsum"})) return std::nullopt;
    const std::optional<int> other = variable(*maker);
    if (!other) return std::nullopt;
    std::optional<Nodes> path = is_outer_product(*maker, *other) ? positions(maker->input(*other)) : std::nullopt;
    if (!path && !is_onnx(*maker, {"MatMul", "Einsum"})) path = angles(maker->input(*other));
    return with(*maker, std::move(path));
  }

  static std::optional<Nodes> with(const onnx::NodeProto& node, std::optional<Nodes> path) {
    if (path) path->insert(node.name());
    return path;
  }

  const Model& model_;
  const std::map<std::string, ValueType>& types_;
  const GraphWalk walk_;
  std::set<std::string> inputs_;
  Nodes found_;
};

}  // namespace

std::set<std::string> angle_layers(const Model& model, const std::vector<Layer>& layers,
                                   const std::map<std::string, ValueType>& types) {
  const std::set<std::string> nodes = Angles(model, types).nodes();
  std::set<std::string> found;
  for (const Layer& layer : layers) {
    if (!layer.follows && nodes.contains(layer.name)) found.insert(layer.name);
  }
  return found;
}

}  // namespace vernier
