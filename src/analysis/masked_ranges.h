// Ranges of the scores that a mask hides from a softmax, and of what the mask is made of.
#pragma once

#include "analysis/chosen_ranges.h"
#include "model/model.h"

namespace vernier {

/// Ranges leave masks out (-1e9, -inf): on the grid a masked score becomes the lowest code. For softmax to give it
/// nothing still, that code has to lie far enough below the others:
///
///   scores s that a softmax reads:           low(s) <= high(s) - 12            exp(-12) = 6e-6
///   addends a of s = a + b with a mask:      low(a) <= low(s) - high(b)
///
/// through what only moves or selects values. Data that span more than 12 keep their range. An addend that is nothing
/// but zeros and a mask of its own, whose range reaches to the mask, ends there too, where nothing else reads it.
/// Main graph only. Changes chosen.ranges.
void reach_below_masks(ChosenRanges& chosen, const Model& model);

}  // namespace vernier
