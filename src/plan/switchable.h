// One graph for all plans of a search. Where plans differ in what they round, a Switch stands in the place of the
// Round; what it does is said at run time (plan/round_node.h). Constants that plans differ in get names of their own,
// so that a session can take them as inputs. lower_simulated() stays the one rule: a plan is lowered, and what that
// changed is read off.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model/layers.h"
#include "model/model.h"
#include "numerics/round.h"
#include "plan/lower_simulated.h"
#include "plan/plan.h"

namespace vernier {

/// Behind the name of a tensor: what a Switch in front of one of its readers makes of it.
inline constexpr const char* kSwitched = "/switched";

/// Roundings of a tensor, one after the other; empty: it passes unchanged.
using RoundingChain = std::vector<QuantParams>;

class SwitchableModel {
 public:
  /// What a plan asks of the graph.
  struct Setting {
    std::vector<RoundingChain> roundings;  // by slot
    /// By name of a node: which variant of such constants it reads; the float model's where it is absent.
    std::map<std::string, std::size_t> variants;
  };

  /// `ends` are the plans that all others lie between; the graph's own constants are those of the float model. Absent
  /// where plans differ in more than roundings and constants of the main graph: layers inside bodies, sums of an
  /// engine's own.
  static std::optional<SwitchableModel> of(const Model& prepared, const std::vector<Layer>& layers,
                                           const std::vector<Plan>& ends, RoundedWeights& weights);

  /// Absent when the plan asks for a rounding or a constant that no end has.
  std::optional<Setting> setting(const Model& prepared, const std::vector<Layer>& layers, const Plan& plan,
                                 RoundedWeights& weights) const;

  /// The float model with `layer` alone as in the first end, on exact inputs; absent where it is not low there, or is
  /// part of the layer before it.
  std::optional<Setting> alone(const std::string& layer) const;
  /// What alone() switches, by layer.
  using SwitchedSlots = std::vector<std::pair<std::size_t, RoundingChain>>;
  const std::map<std::string, SwitchedSlots>& slots_alone() const { return alone_; }
  /// No rounding has a scale for each channel.
  bool one_scale_each() const { return one_scale_each_; }

  /// The graph, with the constants of the float model.
  const Model& model() const { return model_; }
  /// How many variants of its constants there are: the float model's, and those of each end.
  std::size_t variants() const { return constants_.size(); }
  /// Whether a variant is the float model's.
  bool is_float(std::size_t variant) const { return constants_.at(variant).empty(); }
  /// The graph with the constants of a variant.
  Model model_with(std::size_t variant) const;
  /// By name of a constant that plans differ in: the node that reads it.
  const std::map<std::string, std::string>& constant_readers() const { return constant_readers_; }
  /// By name of a tensor that a Switch makes in front of a node: that node.
  const std::map<std::string, std::string>& switched_readers() const { return switched_readers_; }

 private:
  using Place = std::pair<std::string, int>;  // node, input

  /// What lowering changed.
  struct Difference {
    std::map<std::string, RoundingChain> behind;  // where the tensor is made
    std::map<Place, RoundingChain> in_front;
    struct Constant {
      std::string name;  // in the lowered graph
      Tensor value;
    };
    std::map<Place, Constant> constants;
  };
  static std::optional<Difference> difference(const Model& prepared, const std::vector<Layer>& layers, const Plan& plan,
                                              RoundedWeights& weights);
  void add_switches(const Model& prepared, const std::set<std::string>& behind, const std::set<Place>& in_front,
                    const std::set<Place>& constants);
  void note_layers_alone(const Model& prepared, const std::vector<Layer>& layers, const Plan& low,
                         const Difference& all_low);

  Model model_;
  std::map<std::string, std::size_t> slots_behind_;  // by tensor
  std::map<Place, std::size_t> slots_in_front_;
  std::size_t slots_ = 0;
  bool one_scale_each_ = true;
  std::map<std::string, SwitchedSlots> alone_;
  std::vector<std::map<Place, Difference::Constant>> constants_;  // by variant
  std::map<Place, std::string> constant_names_;
  std::map<std::string, std::string> constant_readers_, switched_readers_;
};

}  // namespace vernier
