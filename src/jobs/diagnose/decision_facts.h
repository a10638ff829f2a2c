// Nodes that pick places of what they read, and how many of their picks change with everything low.
#pragma once

#include <cstddef>
#include <vector>

#include "analysis/subject.h"
#include "causes/facts.h"
#include "plan/plan.h"

namespace vernier {

/// Of every ArgMax, ArgMin and TopK of the main graph, in graph order, over the samples of `order`. Cost: two runs,
/// one in simulation, none where there is no such node; holds what the nodes read in both.
std::vector<DecisionFacts> decision_facts(const Subject& subject, const Plan& all_low,
                                          const std::vector<std::size_t>& order);

}  // namespace vernier
