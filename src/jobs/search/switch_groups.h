// Layers that should switch together, as the graph says, and the units that a search switches.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "jobs/search/experiment.h"
#include "search/oracle.h"
#include "vernier/report/kept_set.h"

namespace vernier {

/// Groups among the candidates, where a format with scales is tried (casts tie nothing together):
///
///   they read one quantized tensor      its quantizer stays as long as one of them is low
///   their results meet in an Add        engines compute it behind one of them, in the format of the other
///   their results meet in a Concat      its inputs share one scale where it moves codes
///
/// Results are followed through layers that are no candidates (activations, Reshape), as far as they come of one
/// candidate alone. Members in graph order, two at least; groups may overlap. Cost: linear in layers.
std::vector<LayerGroup> switch_groups(const Experiment& experiment);

/// What a search switches: each step by itself, or groups of candidates, those that overlap as one.
class Units {
 public:
  Units(const Experiment& experiment, bool whole_groups);

  std::size_t size() const { return members_.size(); }
  /// Positions among Experiment::steps(), ascending.
  const std::vector<std::size_t>& members(std::size_t unit) const { return members_[unit]; }
  /// "conv1", "conv1 + conv2", or "conv1:uint16".
  const std::string& name(std::size_t unit) const { return names_[unit]; }
  const std::vector<std::string>& names() const { return names_; }
  /// All members of the units of `set`, ascending.
  KeptSet steps(const KeptSet& set) const;
  /// The unit that holds a step.
  std::size_t unit_of(std::size_t step) const { return unit_of_[step]; }

 private:
  std::vector<std::vector<std::size_t>> members_;  // in the order of their first members
  std::vector<std::string> names_;
  std::vector<std::size_t> unit_of_;
};

}  // namespace vernier
