// `vernier debug precision`: a diagnosis (vernier/jobs.h) that only searches. Its report is told in the words that
// users of Polygraphy's tool know.
#pragma once

#include <string>

#include "vernier/jobs.h"
#include "vernier/report.h"

namespace vernier {

/// The answer, each iteration with what it would have passed with and the layers that ran high, the words to paste, and
/// what the minimal search needs instead. A function of the report alone; `report.kept` must be there.
VERNIER_API std::string debug_precision_to_text(const DiagnoseReport& report, const TextOptions& options);

/// The sets that were tried, cheapest first: cost, damage, metric, number of layers, on the front or not, names.
VERNIER_API std::string pareto_to_csv(const KeptSetReport& kept);
/// The same as a drawing: cost across, damage upwards on a logarithmic scale, the front joined, the limit as a line.
VERNIER_API std::string pareto_to_svg(const KeptSetReport& kept);

}  // namespace vernier
