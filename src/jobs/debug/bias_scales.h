// Scales of biases that do not fit those of the layer's input and weight: which of the three was changed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "jobs/debug/examined_file.h"
#include "vernier/report/defects.h"

namespace vernier {

bool has_defect(const std::vector<FoundDefect>& defects, std::string_view kind, const std::string& node);

/// Drops what was found of biases whose quantized values are right, if the scale of the layer's input or weight is what
/// is wrong: that one was changed, and the bias was not.
void drop_scales_of_biases(const Examined& file, std::vector<FoundDefect>& defects);

/// Names the pair whose scale was changed after the bias behind it was stored, in the place of the bias.
void blame_inputs_of_biases(const Examined& file, std::vector<FoundDefect>& defects);

}  // namespace vernier
