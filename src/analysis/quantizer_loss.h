// What every pair of quantizer and dequantizer of a simulated file does to the values that arrive at it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/subject.h"
#include "plan/simulate_typed.h"

namespace vernier {

/// Error of one grid, split in two that add up: values beyond its ends are clipped, the others are rounded.
struct GridLoss {
  double energy = 0;        // sum x^2
  double clip_energy = 0;   // of clipping
  double round_energy = 0;  // of rounding
  std::int64_t count = 0;
  RangeStats range;  // of the values
};

/// The same of a constant whose values before quantization are `values`, after it `rounded`.
GridLoss grid_loss(const QuantParams& params, std::span<const float> values, std::span<const float> rounded);

/// Smallest and largest value that a Relu or Clip, which a quantizer stands for, lets through.
using Bounds = std::pair<float, float>;

/// Runs all samples through `file` and looks at its activations in `quantized`, one entry for each. Constants stay
/// empty (count 0), and so do activations per channel whose rank is not known. `activations`, by what a quantizer
/// gives: values outside are no loss. `rounded`: whether pairs hand on what they round, so that the pairs behind see
/// its error; else each sees exact values.
std::vector<GridLoss> measure_grids(const Subject& subject, const SimulatedFile& file,
                                    const std::map<std::string, Bounds>& activations, bool rounded = true);

/// Smallest and largest value of a grid, under its scale `index`, as float32 has them.
std::pair<float, float> ends_of(const QuantParams& params, std::size_t index = 0);

}  // namespace vernier
