// Were the samples enough to know the ranges? What two halves of them learned is compared, what the last fifth added,
// and how much of one half lies beyond the range of the other: values that were not used to find it.
#pragma once

#include <cstddef>
#include <vector>

#include "analysis/reference.h"
#include "vernier/report/calibrate.h"

namespace vernier {

/// Fills clipped, halves_differ, uncovered and growth of `row`, whose method, format and range are known. What needs
/// more samples than there were stays absent. The tensor must have been counted.
void fill_sufficiency(RangeRow& row, const Reference& reference);

/// The verdict over the quantized rows, in words too. `distinct` of the `samples` are not the same as an earlier one.
Sufficiency sufficiency_of(const std::vector<RangeRow>& rows, std::size_t samples, std::size_t distinct,
                           bool random_data);

}  // namespace vernier
