// Ranges of tensors by a calibration method, from what a reference run saw (numerics/range_methods.h says how each
// method chooses). The method that looks at the layers behind a tensor is automatic_ranges.h.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "analysis/reference.h"
#include "numerics/distribution.h"
#include "vernier/calibration.h"
#include "vernier/format.h"

namespace vernier {

struct ChosenRanges {
  std::map<std::string, RangeStats> ranges;  // chosen ends, with the counts of what was seen
  std::map<std::string, Mask> masks;         // left out, by tensor
};

/// Tensors whose values a run must count for `method`, of those in `tensors`: all, or none for minmax.
std::set<std::string> to_count(const CalibrationChoice& choice, const std::map<std::string, Format>& tensors);

/// Tensors that may hold values of a mask, judged by their ends alone: these need counting whatever the method is.
std::set<std::string> maybe_masked(const std::map<std::string, Format>& tensors,
                                   const std::map<std::string, RangeStats>& ranges);

/// Refuses a method that means nothing for one of the formats, before anything runs. Errors: Usage.
void check_method(const CalibrationChoice& choice, const std::map<std::string, Format>& tensors);

/// The range of each tensor for its format. A tensor that was not counted gets its smallest and largest value. With
/// `choice` automatic: those too. With `half`, 0 or 1, from the values of that half of the samples alone, where it has
/// any. Tensors are worked on side by side. Tensors that no run saw are absent.
ChosenRanges choose_ranges(const CalibrationChoice& choice, const std::map<std::string, Format>& tensors,
                           const Reference& reference, std::size_t threads, std::optional<std::size_t> half = {});

}  // namespace vernier
