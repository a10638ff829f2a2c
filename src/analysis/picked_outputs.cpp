#include "analysis/picked_outputs.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "analysis/simulated_graph.h"
#include "base/elements.h"
#include "model/graph_walk.h"
#include "model/operator_traits.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

using Step = TensorBehind::Step;

constexpr Traits kHasWeights = Trait::Weighted | Trait::Recurrent | Trait::StoresCodes | Trait::ComputesOnCodes;

/// Inputs whose values decide how many elements the node gives.
std::vector<int> conditions_of(const onnx::NodeProto& node) {
  if (is_onnx(node, "NonMaxSuppression")) return {0, 1, 2, 3, 4};
  if (is_onnx(node, {"NonZero", "Unique"})) return {0};
  if (is_onnx(node, {"Compress", "TopK"})) return {1};
  if (is_onnx(node, "Slice")) return {1, 2};
  if (is_onnx(node, "Range")) return {0, 1, 2};
  return {};
}

/// The output that says which places of computed values the node chose, however many these are; -1: it chooses none.
int choice_of(const onnx::NodeProto& node) {
  if (is_onnx(node, {"ArgMax", "ArgMin", "NonMaxSuppression"})) return 0;
  return is_onnx(node, "TopK") && node.output_size() > 1 ? 1 : -1;
}

/// A step of such a function is a decision as well.
bool makes_steps(const onnx::NodeProto& node) { return is_onnx(node, {"Round", "Floor", "Ceil", "Sign"}); }

class Search {
 public:
  explicit Search(const Model& model) : model_(model), walk_(model), types_(infer_types(model)) {
    for (const onnx::NodeProto& node : model.proto.graph().node()) mark(node);  // sorted: makers come first
  }

  PickedOutputs find(const std::set<std::string>& wanted) {
    if (picking_.empty() && chosen_.empty()) return {};
    for (const onnx::ValueInfoProto& output : model_.proto.graph().output()) {
      const std::string& name = output.name();
      const onnx::TypeProto_Tensor& type = output.type().tensor_type();
      const bool any_number = picked_.contains(name) && !has_one_shape(type);
      const bool chosen = chosen_.contains(name) && is_float(static_cast<Dtype>(type.elem_type()));
      if (!wanted.contains(name) || !(any_number || chosen)) continue;
      output_ = name;
      seen_.clear();
      reached_front_ = layered_ = false;
      operator_ = picking_before(name);
      follow(name, {});
      if (!reached_front_) continue;
      (layered_ ? found_.layered : found_.outputs).insert(name);
    }
    return std::move(found_);
  }

 private:
  static bool has_one_shape(const onnx::TypeProto_Tensor& type) {
    const auto is_known = [](const auto& dim) { return dim.has_dim_value(); };
    return type.has_shape() && std::ranges::all_of(type.shape().dim(), is_known);
  }

  bool is_one_of(const std::set<std::string>& tensors, const std::string& tensor) const {
    return !tensor.empty() && tensors.contains(tensor);
  }

  void mark(const onnx::NodeProto& node) {
    const auto any = [&](const std::set<std::string>& tensors) {
      return std::ranges::any_of(node.input(), [&](const std::string& read) { return is_one_of(tensors, read); });
    };
    const auto add_to = [&](std::set<std::string>& tensors) {
      tensors.insert(node.output().begin(), node.output().end());
    };
    const bool picks = std::ranges::any_of(conditions_of(node), [&](int input) {
      return input < node.input_size() && is_one_of(computed_, node.input(input));
    });
    if (picks) picking_.insert(&node);
    if (picks || any(picked_)) add_to(picked_);
    if (any(ordered_)) add_to(ordered_);
    if (any(chosen_) && places_chosen(node)) add_to(chosen_);
    const bool by_scores = is_onnx(node, "NonMaxSuppression") && is_one_of(computed_, node.input(1));
    const int choice = choice_of(node);
    if (choice >= 0 && (by_scores || is_one_of(computed_, node.input(0)))) {
      choosing_.insert(&node);
      chosen_.insert(node.output(choice));
    }
    if (is_onnx(node, "TopK") && node.output_size() > 1) ordered_.insert(node.output(1));
    const bool computes = has(node, kHasWeights) || any(computed_);
    if (computes && !(has(node, Trait::ReadsShape) && !any(picked_))) add_to(computed_);
  }

  /// Whether what is at a place of the result follows from chosen elements: moved, placed, or computed of them and of
  /// constants alone. What has another element beside it keeps its place, and its partner.
  bool places_chosen(const onnx::NodeProto& node) const {
    if (has(node, Trait::Moves | Trait::Fills | Trait::Joins | Trait::ChangesType)) return true;
    if (is_onnx(node, {"Gather", "GatherElements", "GatherND", "ScatterElements", "ScatterND", "OneHot"})) return true;
    return has(node, Trait::Elementwise) && std::ranges::all_of(node.input(), [&](const std::string& read) {
             return read.empty() || chosen_.contains(read) || is_initializer(model_, read);
           });
  }

  Dtype type_of(const std::string& tensor) const {
    const auto type = types_.find(tensor);
    return type == types_.end() ? Dtype::Undefined : type->second.dtype;
  }

  /// Behind what rounds, casts or hands on.
  std::string base_of(std::string tensor) const {
    for (const auto* node = walk_.maker(tensor); node != nullptr && is_transparent(*node); node = walk_.maker(tensor)) {
      tensor = node->input(0);
    }
    return tensor;
  }

  bool hangs_on_picks(const std::string& tensor) const { return picked_.contains(tensor) || chosen_.contains(tensor); }

  /// The operator of the last node in front of `output` that picks.
  std::string picking_before(const std::string& output) const {
    std::vector<std::string> next{output};
    std::set<std::string> seen(next.begin(), next.end());
    for (std::size_t i = 0; i < next.size(); ++i) {
      const onnx::NodeProto* node = walk_.maker(next[i]);
      if (node == nullptr) continue;
      if (picking_.contains(node) || choosing_.contains(node)) return node->op_type();
      for (const std::string& read : node->input()) {
        if (hangs_on_picks(read) && seen.insert(read).second) next.push_back(read);
      }
    }
    return {};
  }

  void add(std::vector<TensorBehind>& list, const std::string& tensor, std::vector<Step> steps, std::string given) {
    const auto is_it = [&](const TensorBehind& known) { return known.tensor == tensor; };
    if (std::ranges::none_of(list, is_it)) list.push_back({output_, std::move(steps), tensor, std::move(given)});
  }

  /// What `node` was led by: the places that it gives, or what says them.
  void add_picks(const onnx::NodeProto& node, const std::vector<Step>& steps) {
    int input = -1;
    if (is_onnx(node, {"Compress", "TopK", "Range"})) input = 1;
    if (is_onnx(node, "Slice")) input = 2;
    if (input < 0 && !is_onnx(node, {"NonMaxSuppression", "NonZero"})) return;
    if (input >= node.input_size()) return;
    std::vector<Step> way = steps;
    if (input >= 0) way.push_back({node.op_type(), input});
    const std::string& tensor = input >= 0 ? node.input(input) : node.output(0);
    add(found_.picks, tensor, std::move(way), (node.name().empty() ? tensor : node.name()) + "[picks]");
  }

  void follow(const std::string& tensor, const std::vector<Step>& steps) {
    const std::string base = base_of(tensor);
    if (!seen_.insert(base).second || !computed_.contains(base)) return;
    const onnx::NodeProto* node = walk_.maker(base);
    if (node == nullptr) return;
    const bool weighted = has(*node, kHasWeights);
    const bool decided = hangs_on_picks(base) || makes_steps(*node) || choosing_.contains(node);
    if (!decided && is_float(type_of(base)) && (weighted || !ordered_.contains(base))) {
      reached_front_ = true;
      add(found_.fronts, base, steps, base + "[before " + operator_ + "]");
      return;
    }
    if (weighted) layered_ = true;
    if (picking_.contains(node)) {
      add_picks(*node, steps);
    } else if (choosing_.contains(node) && chosen_.contains(base)) {
      add(found_.picks, base, steps, (node->name().empty() ? base : node->name()) + "[picks]");
    }
    for (int i = 0; i < node->input_size(); ++i) {
      if (node->input(i).empty()) continue;
      std::vector<Step> way = steps;
      way.push_back({node->op_type(), i});
      follow(node->input(i), way);
    }
  }

  const Model& model_;
  const GraphWalk walk_;
  const std::map<std::string, ValueType> types_;
  std::set<std::string> computed_;  // of weighted layers, but for their shapes
  std::set<std::string> picked_;    // behind what picks as many as the data want
  std::set<std::string> ordered_;   // behind the places of a TopK
  std::set<std::string> chosen_;    // chosen places, and what they place: another choice moves or changes elements
  std::set<const onnx::NodeProto*> picking_, choosing_;
  std::set<std::string> seen_;
  std::string output_, operator_;
  bool reached_front_ = false, layered_ = false;  // on the way from output_
  PickedOutputs found_;
};

}  // namespace

PickedOutputs find_picked_outputs(const Model& model, const std::set<std::string>& wanted) {
  return Search(model).find(wanted);
}

std::string tensor_of(const Model& model, const TensorBehind& behind) {
  const GraphWalk walk(model);
  std::string tensor = behind.output;
  for (const Step& step : behind.steps) {
    const onnx::NodeProto* node = walk.maker(tensor);
    while (node != nullptr && is_transparent(*node)) node = walk.maker(node->input(0));
    if (node == nullptr || node->op_type() != step.op_type || step.input >= node->input_size()) return {};
    tensor = node->input(step.input);
  }
  return tensor;
}

}  // namespace vernier
