// Pairs of activations that lose far more to a narrow range than their format would on these values.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/quantizer_loss.h"
#include "model/model.h"
#include "plan/simulate_typed.h"

namespace vernier {

/// What a pair loses over what a range that holds all values would lose to rounding, whatever the format. nullopt: it
/// has several scales or no integers, nothing was measured, or the pair may stand for a Relu.
std::optional<double> times_of_fitting_range(const QuantParams& params, const GridLoss& loss);

/// By their places in `file.quantized`: those that lose 3 times as much as with a fitting range, and 3 times as much
/// beyond it as the middle one of the other pairs: a calibrator that cuts off values does so everywhere.
std::set<std::size_t> narrow_beside_others(const SimulatedFile& file, const std::vector<GridLoss>& losses);

/// Those that stand for a Relu or Clip and let values below its limit through: their zero point is off. `activations`:
/// limits by what a pair gives.
std::set<std::size_t> open_below(const SimulatedFile& file, const std::map<std::string, Bounds>& activations,
                                 const std::vector<GridLoss>& losses);

/// The file's model with a range that fits in `pair`, and in those of `narrow` behind which the same scale stands:
/// values that only move go through several.
Model with_fitting_ranges(const SimulatedFile& file, std::size_t pair, const std::set<std::size_t>& narrow,
                          const std::vector<GridLoss>& losses);

}  // namespace vernier
