// Which of three scales is wrong where that of a bias is not input scale times weight scale.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/quantizer_loss.h"
#include "jobs/debug/examined_file.h"
#include "vernier/report/defects.h"

namespace vernier {

bool has_defect(const std::vector<FoundDefect>& defects, std::string_view kind, const std::string& node);

/// Drops "bias-scale" of biases that are right, where another defect explains it. Of the others with right values at
/// their own scale it names the pair of the input, if only that one's scale can have been changed. `grids`: of
/// all pairs on exact values.
void settle_scales_of_biases(const Examined& file, const std::vector<GridLoss>& grids,
                             std::vector<FoundDefect>& defects);

}  // namespace vernier
