// Twins by structure: the same operator on inputs that were matched.
#pragma once

#include "analysis/match_layers.h"
#include "analysis/simulated_graph.h"
#include "analysis/subject.h"

namespace vernier {

/// How far matches are followed: over all operators, or to the next ones behind what is matched already.
enum class StructuralReach { All, Next };

/// Adds to `matches` what its pairs lead to, operator by operator. Of several nodes on the same inputs, such as the
/// products for queries, keys and values, the one with the nearest attributes and constants is the twin. A node that
/// the file merged into the one before it, a folded BatchNormalization or a dropped activation, takes its match over.
void match_by_structure(const Subject& subject, const SimulatedGraph& graph, bool moves, StructuralReach reach,
                        LayerMatches& matches);

/// Why such a layer has no match.
inline constexpr const char* kMergedIntoNext = "merged into the next layer, which is compared";

}  // namespace vernier
