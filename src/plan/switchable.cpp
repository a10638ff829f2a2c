#include "plan/switchable.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <utility>

#include "model/graph_edit.h"
#include "plan/placement.h"
#include "plan/round_node.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

constexpr std::size_t kFirstEnd = 1;  // variant of the constants

bool same_value(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && a.byte_size() == b.byte_size() &&
         (a.bytes().data() == b.bytes().data() || std::memcmp(a.bytes().data(), b.bytes().data(), a.byte_size()) == 0);
}

/// The roundings between tensors of a lowered graph.
class Chains {
 public:
  explicit Chains(const onnx::GraphProto& lowered) {
    for (const onnx::NodeProto& node : lowered.node()) {
      if (node.domain() != kDomain) continue;
      if (node.op_type() != "Round") only_rounds_ = false;
      rounds_[node.output(0)] = &node;
    }
  }

  bool only_rounds() const { return only_rounds_; }

  /// From `first` to `last`; absent when `last` is made of something else.
  std::optional<RoundingChain> between(const std::string& first, const std::string& last) const {
    RoundingChain chain;
    const std::string* at = &last;
    while (*at != first) {
      const auto round = rounds_.find(*at);
      if (round == rounds_.end()) return std::nullopt;
      chain.push_back(round_params(*round->second));
      at = &round->second->input(0);
    }
    std::ranges::reverse(chain);
    return chain;
  }

 private:
  std::map<std::string, const onnx::NodeProto*> rounds_;
  bool only_rounds_ = true;
};

bool same_bodies(const onnx::NodeProto& a, const onnx::NodeProto& b) {
  return !has_body(a) || a.SerializeAsString() == b.SerializeAsString();
}

/// The data inputs of the layers that may be low, in any of the plans' formats.
std::set<std::pair<std::string, int>> rounded_inputs(const Model& prepared, const std::vector<Layer>& layers,
                                                     const std::vector<Plan>& ends) {
  const std::map<std::string, const onnx::NodeProto*> nodes = nodes_by_name(prepared.proto.graph());
  std::set<std::pair<std::string, int>> places;
  for (const Plan& plan : ends) {
    const PlannedFormats formats(plan);
    for (const Layer& layer : layers) {
      const Format format = formats.of(layer.name);
      if (layer.follows || !layer.graph.empty() || format == Format::Float32) continue;
      const LayerRounding rounding = rounding_of(prepared, layer, *nodes.at(layer.name), format, plan);
      for (const int input : rounding.data_inputs) places.emplace(layer.name, input);
    }
  }
  return places;
}

}  // namespace

std::optional<SwitchableModel::Difference> SwitchableModel::difference(const Model& prepared,
                                                                       const std::vector<Layer>& layers,
                                                                       const Plan& plan, RoundedWeights& weights) {
  const Model lowered = lower_simulated(prepared, layers, plan, weights);
  const Chains chains(lowered.proto.graph());
  if (!chains.only_rounds()) return std::nullopt;
  Difference difference;
  auto low = lowered.proto.graph().node().begin();
  const auto end = lowered.proto.graph().node().end();
  for (const onnx::NodeProto& node : prepared.proto.graph().node()) {
    low = std::find_if(low, end, [](const onnx::NodeProto& other) { return other.domain() != kDomain; });
    if (low == end || low->name() != node.name() || low->op_type() != node.op_type() ||
        low->input_size() != node.input_size() || !same_bodies(node, *low)) {
      return std::nullopt;
    }
    for (int i = 0; i < node.input_size(); ++i) {
      const std::string& wanted = node.input(i);
      if (wanted.empty()) continue;
      if (is_initializer(prepared, wanted)) {
        if (low->input(i) == wanted && !plan.constants.contains(wanted)) continue;
        const bool rounds_in_run = !is_initializer(lowered, low->input(i));  // as a large network does its weights
        if (rounds_in_run) {
          std::optional<RoundingChain> chain = chains.between(wanted, low->input(i));
          if (!chain) return std::nullopt;
          difference.in_front.emplace(Place(node.name(), i), std::move(*chain));
          if (!plan.constants.contains(wanted)) continue;
        }
        const std::string& read = rounds_in_run ? wanted : low->input(i);
        Difference::Constant constant{read, initializer(lowered, read).value()};
        if (constant.name != wanted || !same_value(constant.value, initializer(prepared, wanted).value())) {
          difference.constants.emplace(Place(node.name(), i), std::move(constant));
        }
        continue;
      }
      std::optional<RoundingChain> chain = chains.between(wanted, low->input(i));
      if (!chain) return std::nullopt;
      if (!chain->empty()) difference.in_front.emplace(Place(node.name(), i), std::move(*chain));
    }
    for (int o = 0; o < node.output_size(); ++o) {
      std::optional<RoundingChain> chain = chains.between(low->output(o), node.output(o));
      if (!chain) return std::nullopt;
      if (!chain->empty()) difference.behind.emplace(node.output(o), std::move(*chain));
    }
    ++low;
  }
  return difference;
}

std::optional<SwitchableModel> SwitchableModel::of(const Model& prepared, const std::vector<Layer>& layers,
                                                   const std::vector<Plan>& ends, RoundedWeights& weights) {
  SwitchableModel made;
  std::vector<Difference> differences;
  std::set<std::string> behind;
  std::set<Place> in_front = rounded_inputs(prepared, layers, ends);
  std::set<Place> constants;
  for (const Plan& plan : ends) {
    std::optional<Difference> found = difference(prepared, layers, plan, weights);
    if (!found) return std::nullopt;
    for (const auto& [tensor, chain] : found->behind) behind.insert(tensor);
    for (const auto& [place, chain] : found->in_front) in_front.insert(place);
    for (const auto& [place, constant] : found->constants) constants.insert(place);
    for (const auto& [tensor, params] : plan.tensors) {
      const bool constant = is_initializer(prepared, tensor);
      made.one_scale_each_ = made.one_scale_each_ && (constant || (params.axis < 0 && !params.dynamic));
    }
    for (const auto& [tensor, grids] : plan.other_grids) {
      if (is_initializer(prepared, tensor)) continue;
      for (const auto& [format, params] : grids) {
        made.one_scale_each_ = made.one_scale_each_ && params.axis < 0 && !params.dynamic;
      }
    }
    differences.push_back(*std::move(found));
  }
  made.add_switches(prepared, behind, in_front, constants);
  made.note_layers_alone(prepared, layers, ends.front(), differences.front());
  made.constants_.emplace_back();
  for (Difference& found : differences) made.constants_.push_back(std::move(found.constants));
  return made;
}

void SwitchableModel::add_switches(const Model& prepared, const std::set<std::string>& behind,
                                   const std::set<Place>& in_front, const std::set<Place>& constants) {
  model_ = prepared;
  NamePool names(prepared);
  // Which a weight waits for, so that large ones are not all rounded at once; empty: nothing.
  const auto first_data_of = [&](const onnx::NodeProto& node) {
    for (int i = 0; i < node.input_size(); ++i) {
      if (in_front.contains({node.name(), i}) && !is_initializer(prepared, node.input(i))) return node.input(i);
    }
    return std::string();
  };
  onnx::GraphProto& graph = *model_.proto.mutable_graph();
  google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
  nodes.Swap(graph.mutable_node());
  for (onnx::NodeProto& node : nodes) {
    const onnx::NodeProto before = node;
    for (int i = 0; i < node.input_size(); ++i) {
      const Place place(node.name(), i);
      if (constants.contains(place)) {
        const std::string name = names.unique(fmt::format("{}/constant{}", node.name(), i));
        constant_names_[place] = name;
        add_initializer(model_, graph, name, initializer(prepared, node.input(i)).value());
        constant_readers_[name] = node.name();
        node.set_input(i, name);
      }
      if (in_front.contains(place)) {
        const std::size_t slot = slots_in_front_.emplace(place, slots_++).first->second;
        const std::string name = names.unique(node.input(i) + kSwitched);
        onnx::NodeProto made = switch_node(node.input(i), name, static_cast<std::int64_t>(slot));
        if (is_initializer(prepared, before.input(i))) {
          if (const std::string data = first_data_of(before); !data.empty()) made.add_input(data);
        }
        *graph.add_node() = std::move(made);
        switched_readers_[name] = node.name();
        node.set_input(i, name);
      }
    }
    std::vector<onnx::NodeProto> switches;
    for (std::string& output : *node.mutable_output()) {
      if (!behind.contains(output)) continue;
      const std::size_t slot = slots_behind_.emplace(output, slots_++).first->second;
      const std::string name = output;
      output = names.unique(output + "/unswitched");
      switches.push_back(switch_node(output, name, static_cast<std::int64_t>(slot)));
    }
    *graph.add_node() = std::move(node);
    for (onnx::NodeProto& made : switches) *graph.add_node() = std::move(made);
  }
  remove_leftovers(model_);
}

void SwitchableModel::note_layers_alone(const Model& prepared, const std::vector<Layer>& layers, const Plan& low,
                                        const Difference& all_low) {
  const std::map<std::string, const onnx::NodeProto*> nodes = nodes_by_name(prepared.proto.graph());
  std::map<std::string, const Layer*> by_name;
  for (const Layer& layer : layers) by_name[layer.name] = &layer;
  const Placement placement(prepared, prepared.proto.graph(), by_name, low, runs_on_codes(by_name, low));
  const PlannedFormats formats(low);
  for (const Layer& layer : layers) {
    const Format format = formats.of(layer.name);
    if (format == Format::Float32 || layer.follows || !layer.graph.empty() || placement.passes_codes(layer.name)) {
      continue;
    }
    const onnx::NodeProto& node = *nodes.at(layer.name);
    SwitchedSlots& switched = alone_[layer.name];
    const LayerRounding rounding = rounding_of(prepared, layer, node, format, low);
    for (const int input : rounding.data_inputs) {
      switched.emplace_back(slots_in_front_.at({layer.name, input}), RoundingChain{rounding.input_params.at(input)});
    }
    for (const auto& [input, grid] : rounding.weight_grids) {
      const auto chain = all_low.in_front.find({layer.name, input});
      if (chain != all_low.in_front.end()) switched.emplace_back(slots_in_front_.at(chain->first), chain->second);
    }
    const onnx::NodeProto* activation = placement.activation_of(node);
    if (activation != nullptr && !placement.passes_codes(activation->name())) activation = nullptr;
    for (const std::string& output : activation != nullptr ? activation->output() : node.output()) {
      if (const auto chain = all_low.behind.find(output); chain != all_low.behind.end()) {
        switched.emplace_back(slots_behind_.at(output), chain->second);
      }
    }
  }
}

std::optional<SwitchableModel::Setting> SwitchableModel::alone(const std::string& layer) const {
  const auto known = alone_.find(layer);
  if (known == alone_.end()) return std::nullopt;
  Setting setting;
  setting.roundings.resize(slots_);
  for (const auto& [slot, chain] : known->second) setting.roundings[slot] = chain;
  setting.variants[layer] = kFirstEnd;
  return setting;
}

std::optional<SwitchableModel::Setting> SwitchableModel::setting(const Model& prepared,
                                                                 const std::vector<Layer>& layers, const Plan& plan,
                                                                 RoundedWeights& weights) const {
  const std::optional<Difference> wanted = difference(prepared, layers, plan, weights);
  if (!wanted) return std::nullopt;
  Setting setting;
  setting.roundings.resize(slots_);
  for (const auto& [tensor, chain] : wanted->behind) {
    const auto slot = slots_behind_.find(tensor);
    if (slot == slots_behind_.end()) return std::nullopt;
    setting.roundings[slot->second] = chain;
  }
  for (const auto& [place, chain] : wanted->in_front) {
    const auto slot = slots_in_front_.find(place);
    if (slot == slots_in_front_.end()) return std::nullopt;
    setting.roundings[slot->second] = chain;
  }
  // The first variant that has all constants of a node as the plan has them.
  std::set<std::string> nodes;
  for (const auto& [name, node] : constant_readers_) nodes.insert(node);
  const auto of_node = [](const std::map<Place, Difference::Constant>& constants, const std::string& node) {
    std::map<int, std::string> names;
    for (auto at = constants.lower_bound({node, 0}); at != constants.end() && at->first.first == node; ++at) {
      names[at->first.second] = at->second.name;
    }
    return names;
  };
  for (const std::string& node : nodes) {
    const std::map<int, std::string> names = of_node(wanted->constants, node);
    const auto variant =
        std::ranges::find_if(constants_, [&](const auto& constants) { return of_node(constants, node) == names; });
    if (variant == constants_.end()) return std::nullopt;
    if (variant != constants_.begin()) setting.variants[node] = static_cast<std::size_t>(variant - constants_.begin());
  }
  for (const auto& [place, constant] : wanted->constants) {
    if (!nodes.contains(place.first)) return std::nullopt;
  }
  return setting;
}

Model SwitchableModel::model_with(std::size_t variant) const {
  Model model = model_;
  for (const auto& [place, constant] : constants_.at(variant)) {
    set_initializer(model, *model.proto.mutable_graph(), constant_names_.at(place), constant.value);
  }
  return model;
}

}  // namespace vernier
