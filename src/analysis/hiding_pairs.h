// Which Q/DQ pairs of a file hide a part of an output: their one scale is made for the large values that share the
// tensor, or the scale, and rounds the small ones of the part away.
//
// Followed are the values of the part from the output back to where they are made, through what only moves or joins
// them. On that way a pair meets the very values that the output has, so that its step and their rms say what it leaves
// of them. Pairs in front of any arithmetic are not looked at: their own errors tell.
#pragma once

#include <string>
#include <vector>

#include "analysis/output_part.h"
#include "numerics/metrics.h"
#include "plan/simulate_typed.h"

namespace vernier {

struct HidingPair {
  const QuantizedTensor* pair = nullptr;  // in SimulatedFile::quantized
  bool joined = false;                    // behind a Concat of the parts
  double step = 0;                        // between two of its levels
  double rms = 0;                         // of the part
  double levels = 0;                      // that the values of the part reach, about
};

/// Pairs that leave the values of `part` less than 20 dB and explain what the part has lost, the nearest to the output
/// first. `sums`: of the part, against the float model.
std::vector<HidingPair> pairs_hiding(const SimulatedFile& file, const OutputPart& part, const ErrorStats& sums);

/// "'cat' has one scale, 2.5, for values of different size: of 'output0[:,4:]' (rms 0.13) it keeps about 1 of 256
/// levels".
std::string hiding_text(const HidingPair& hiding, const OutputPart& part);

}  // namespace vernier
