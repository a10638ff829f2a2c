#include "jobs/diagnose/cancelled_sums.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <set>

#include "jobs/diagnose/constant_facts.h"
#include "model/graph_edit.h"
#include "model/operator_traits.h"
#include "numerics/distribution.h"
#include "numerics/histogram.h"
#include "repairs/norm_in_pieces.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

constexpr int kSteps = 4;  // nodes from a result to the sum

bool is_sum(const onnx::NodeProto& node) { return is_onnx(node, {"Add", "Sub", "Sum"}); }

void find_sums(const GraphWalk& walk, const std::string& tensor, int steps,
               std::vector<const onnx::NodeProto*>& found) {
  for (const auto& [user, read] : walk.uses(tensor)) {
    const bool sum = is_sum(*user);
    if (sum && std::ranges::find(found, user) == found.end()) found.push_back(user);
    const bool keeps = sum || is_onnx(*user, {"Mul", "Div", "Neg", "Pow", "ReduceMean", "ReduceSum"});
    if (steps > 1 && keeps) find_sums(walk, user->output(0), steps - 1, found);
  }
}

std::optional<double> rms_of_operand(const Model& model, const std::string& tensor, const RmsOf& rms_of) {
  const auto constant = initializer(model, tensor);
  if (!constant) return rms_of(tensor);
  if (constant->dtype() != Dtype::Float32 || constant->floats().empty()) return std::nullopt;
  ValueHistogram histogram;
  histogram.add(constant->floats());
  Distribution values = distribution_of(histogram);
  if (histogram.range().nonfinite > 0 || take_any_mask(values)) return std::nullopt;  // a mask cancels nothing
  double energy = 0;
  for (const float value : constant->floats()) energy += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(energy / static_cast<double>(constant->floats().size()));
}

/// The terms of a sum: behind what moves, negates or scales them by constants.
class Terms {
 public:
  Terms(const Model& model, const GraphWalk& walk) : model_(model), walk_(walk) {}

  std::vector<const onnx::NodeProto*> of(const onnx::NodeProto& sum) const {
    std::vector<const onnx::NodeProto*> found;
    for (const std::string& operand : sum.input()) collect(operand, kSteps, found);
    return found;
  }

  /// Behind what moves or scales.
  std::string base_of(std::string tensor) const {
    for (const onnx::NodeProto* node = walk_.maker(tensor); node != nullptr; node = walk_.maker(tensor)) {
      const std::string* const next = scaled_by(*node);
      if (next == nullptr) break;
      tensor = *next;
    }
    return tensor;
  }

  /// The tensor whose squares `node` adds up, each with the same factor; empty: it does something else.
  std::string squared_by(const onnx::NodeProto& node) const {
    if (is_onnx(node, "ReduceSumSquare")) return base_of(node.input(0));
    const bool adds = is_onnx(node, {"ReduceSum", "ReduceMean"}) || weighs_alike(node);
    const onnx::NodeProto* square = adds ? walk_.maker(base_of(node.input(0))) : nullptr;
    return square != nullptr && squares(model_, *square) ? base_of(square->input(0)) : std::string();
  }

  /// Whether a constant is among the terms, or the bias of a product.
  bool adds_constant(const onnx::NodeProto& sum) const {
    return std::ranges::any_of(sum.input(), [&](const std::string& operand) {
      const std::string base = base_of(operand);
      const onnx::NodeProto* node = walk_.maker(base);
      if (node == nullptr) return is_initializer(model_, base);
      if (is_sum(*node)) return adds_constant(*node);
      return has(*node, Trait::Weighted) && node->input_size() > 2 && is_initializer(model_, node->input(2));
    });
  }

 private:
  /// What `node` moves, negates or multiplies by a constant; null: it does something else.
  const std::string* scaled_by(const onnx::NodeProto& node) const {
    if (has(node, Trait::Moves) || is_onnx(node, "Neg")) return &node.input(0);
    if (!is_onnx(node, {"Mul", "Div"})) return nullptr;
    if (is_initializer(model_, node.input(1))) return &node.input(0);
    return is_onnx(node, "Mul") && is_initializer(model_, node.input(0)) ? &node.input(1) : nullptr;
  }

  /// A sum written as a product with a constant that holds one value only.
  bool weighs_alike(const onnx::NodeProto& node) const {
    if (!(has(node, Trait::Weighted) || is_onnx(node, "Einsum")) || node.input_size() < 2) return false;
    const auto weight = initializer(model_, node.input(1));
    if (!weight || weight->dtype() != Dtype::Float32 || weight->floats().empty()) return false;
    return std::ranges::all_of(weight->floats(), [&](float value) { return value == weight->floats()[0]; });
  }

  void collect(const std::string& operand, int steps, std::vector<const onnx::NodeProto*>& found) const {
    const onnx::NodeProto* node = walk_.maker(base_of(operand));
    if (node == nullptr) return;
    if (!is_sum(*node)) return found.push_back(node);
    if (steps == 0) return;
    for (const std::string& input : node->input()) collect(input, steps - 1, found);
  }

  const Model& model_;
  const GraphWalk& walk_;
};

}  // namespace

std::vector<const onnx::NodeProto*> sums_behind(const GraphWalk& walk, const std::string& tensor) {
  std::vector<const onnx::NodeProto*> found;
  find_sums(walk, tensor, kSteps, found);
  return found;
}

std::optional<CancelledBehind> cancelled_behind(const Model& model, const GraphWalk& walk, const std::string& tensor,
                                                const RmsOf& rms_of) {
  std::optional<CancelledBehind> worst;
  for (const onnx::NodeProto* sum : sums_behind(walk, tensor)) {
    const std::optional<double> result = rms_of(sum->output(0));
    double most = 0, all = 0;
    bool known = result && *result > 0;
    for (const std::string& operand : sum->input()) {
      const std::optional<double> rms = rms_of_operand(model, operand, rms_of);
      known = known && rms;
      most = std::max(most, rms.value_or(0));
      all += rms.value_or(0);
    }
    if (!known) continue;
    const double factor = all / *result;
    if (!worst || factor > worst->factor) worst = {sum->name(), most, *result, factor, distances_of(model, walk, *sum)};
  }
  return worst;
}

std::string distances_of(const Model& model, const GraphWalk& walk, const onnx::NodeProto& sum) {
  if (!is_sum(sum)) return {};
  const Terms terms(model, walk);
  std::set<std::string> squared, multiplied, both;
  for (const onnx::NodeProto* term : terms.of(sum)) {
    if (const std::string of = terms.squared_by(*term); !of.empty()) {
      squared.insert(of);
    } else if (has(*term, Trait::Weighted) || is_onnx(*term, "Einsum")) {
      for (const std::string& factor : term->input()) multiplied.insert(terms.base_of(factor));
    }
  }
  std::ranges::set_intersection(squared, multiplied, std::inserter(both, both.end()));
  const bool has_other_square = both.size() > 1 || terms.adds_constant(sum);
  return both.empty() || !has_other_square ? std::string() : *both.begin();
}

}  // namespace vernier
