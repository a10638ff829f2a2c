// Accuracy against cost, as a table.
#pragma once

#include <string>
#include <string_view>

#include "vernier/report/kept_set.h"
#include "vernier/report/text.h"

namespace vernier {

/// The front, cheapest first; empty when no curve was asked for.
std::string pareto_table(const KeptSetReport& kept, const TextOptions& options);

/// What a set costs is counted in: "macs", "microseconds", on a ladder "multiply-accumulates times bits".
std::string_view cost_unit_text(const KeptSetReport& kept);

/// "3.02 layers, borders included; 12 % of keeping everything".
std::string cost_text(const KeptSetReport& kept);

}  // namespace vernier
