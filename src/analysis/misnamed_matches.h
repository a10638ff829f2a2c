// Tensors of one name that hold the values of another one: exporters number their tensors, and two exports of one
// network number them differently.
#pragma once

#include <cstddef>
#include <set>
#include <vector>

#include "analysis/match_layers.h"
#include "analysis/subject.h"

namespace vernier {

struct MisnamedMatches {
  std::set<std::size_t> wrong;  // among the pairs
  std::vector<Match> right;     // what their tensors of the file stand for instead
};

/// Finds the matches by name that are wrong: another operator makes the tensor of the file, it disagrees with the one
/// of its name on the first sample, and it agrees with another tensor of the float model. If there is one, numbered
/// tensors that disagree are wrong too. A tensor that holds what the layer of its name reads is right: that layer is
/// lost. Cost: nothing without other operators, else a run of one sample.
MisnamedMatches find_misnamed(const Subject& subject, const Model& simulated, const LayerMatches& matches);

}  // namespace vernier
