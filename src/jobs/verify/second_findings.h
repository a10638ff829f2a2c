// Of several findings at one pair, those that only follow from another.
#pragma once

#include <vector>

#include "model/model.h"
#include "vernier/report/defects.h"

namespace vernier {

/// Drops findings about the values of a pair that has the wrong axis, or whose ends have different scales: other
/// values, lost operators and lost layers are what these look like. The same for a loss of a constant that has other
/// values than the float model: no format has too few levels for those. `file`: as normalized_file() gives it.
void drop_second_findings(std::vector<FoundDefect>& defects, const Model& file);

}  // namespace vernier
