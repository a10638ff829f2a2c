// A large network cut into parts that run one after the other.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "model/model.h"

namespace vernier {

// Optimizing takes the runtime time in the square of the nodes, and in nodes times outputs: 50,000 nodes take it 20 s,
// and what measures their own errors has five times as many. A session without is built in parts (session.h).
inline constexpr int kMostOptimizedNodes = 5000;

struct ModelPart {
  /// Its inputs are graph inputs, and tensors of parts before it: those have names and no types. Its outputs are what
  /// parts behind it read, and graph outputs.
  Model model;
  std::vector<std::string> last_reads;  // tensors that no part behind it reads and that are no graph outputs
};

/// Parts of at most `nodes` nodes of the main graph that read at most `bytes` of weights (Model::weights) if they have
/// several, in the order in which they run; together they hold each node once,
/// each after what it reads and close to it. One part, the model as it is, where it is no larger, and where values are
/// made that are no tensors (sequences, optionals, maps). Cost: one copy of the message; weights are shared.
std::vector<ModelPart> parts_of(const Model& model, std::size_t nodes,
                                std::size_t bytes = std::numeric_limits<std::size_t>::max());

/// The parts that begin at the nodes `starts` of the main graph, the first of them 0, ascending, each in the order of
/// the graph. One part where values are made that are no tensors. What the graph's value_info tells of tensors it tells
/// of those that a part begins with, too: it must hold for each sample.
std::vector<ModelPart> parts_at(const Model& model, const std::vector<int>& starts);

}  // namespace vernier
