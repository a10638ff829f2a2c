// Twins by value: what a tensor of a typed file stands for where names say nothing. Exporters number their tensors, and
// two exports of one network number them differently.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "analysis/match_layers.h"
#include "analysis/simulated_graph.h"
#include "analysis/subject.h"
#include "model/model.h"
#include "vernier/tensor.h"

namespace vernier {

/// Looks at the first sample. The file computes each tensor from the float model's values of those that were matched
/// before, so that an error counts where it is made and nowhere behind. All arguments must outlive it.
class ValueMatches {
 public:
  ValueMatches(const Subject& subject, const SimulatedGraph& graph);

  /// Whether all tensors of the float model can be held at once: 512 MiB, as far as shapes follow from the inputs'.
  bool fits() const;

  /// A tensor stands for the one that it agrees with best, from 25 dB on. A layer that computes something else is found
  /// by structure, and what is behind it by value again. Layers as in match_layers().
  /// Cost: runs of one sample, each in a session of its own: one, one for each layer in a row that computes something
  /// else, and those that try bridges; 32 sessions or little more, then what is left is matched by structure.
  LayerMatches matches(bool moves);

  /// The SQNR of each pair in dB, cut to 0 to 40; 0 as well where the shapes differ. After matches().
  std::vector<double> agreement(const LayerMatches& matches);

 private:
  using Values = std::map<std::string, Tensor>;

  Values values_in(const Model& model, const std::vector<std::string>& tensors);
  const Values& of_float_model();
  Model on_float_values(const std::vector<Match>& pairs);
  /// Adds what agrees on the values of what is matched already.
  void add_alike(LayerMatches& matches);
  std::vector<std::string> open_behind(const std::set<std::string>& sources, const std::set<std::string>& known) const;
  /// Where another operator, or one that is written with others, computes something else: its twin is the tensor whose
  /// values make those behind it agree.
  bool add_bridge(LayerMatches& matches);

  const Subject& subject_;
  const SimulatedGraph& graph_;
  std::map<std::string, ValueType> ref_types_, low_types_;
  std::map<std::string, const Layer*> layers_;  // by what they make
  Values refs_;
  int sessions_ = 0;
  std::map<std::string, Shape> low_shapes_;  // as the first run showed them
};

/// The sum of what agreement() gives.
double total(const std::vector<double>& agreement);

}  // namespace vernier
