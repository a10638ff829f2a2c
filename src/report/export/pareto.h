// Accuracy against cost, as a table.
#pragma once

#include <string>

#include "vernier/report/kept_set.h"
#include "vernier/report/text.h"

namespace vernier {

/// The front, cheapest first; empty when no curve was asked for.
std::string pareto_table(const KeptSetReport& kept, const TextOptions& options);

/// "3.02 layers, borders included; 12 % of keeping everything".
std::string cost_text(const KeptSetReport& kept);

}  // namespace vernier
