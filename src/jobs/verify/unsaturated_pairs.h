// FP8 pairs that do not saturate: values beyond their range become NaN or infinite.
#pragma once

#include <vector>

#include "analysis/subject.h"
#include "model/model.h"
#include "vernier/report/defects.h"

namespace vernier {

/// One defect of kind "overflowing-pair" for each QuantizeLinear with saturate=0 that reads finite values beyond the
/// largest of its format. `given`: the file, normalized; `simulated`: as simulate_typed() makes it, which leaves such
/// pairs as they are. Cost: a run of all samples if there are any.
std::vector<FoundDefect> find_overflowing_pairs(const Subject& subject, const Model& given, const Model& simulated);

}  // namespace vernier
