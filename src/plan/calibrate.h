// From the ranges that calibration saw to the grids of a plan (docs/contract.md, 2).
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/progress.h"
#include "model/layers.h"
#include "numerics/metrics.h"
#include "plan/plan.h"
#include "vernier/format.h"
#include "vernier/note.h"

namespace vernier {

/// Float tensors whose ranges the plan needs: what its layers quantize, inputs and results alike.
std::set<std::string> tensors_to_calibrate(const Model& model, const std::vector<Layer>& layers, const Plan& plan);

/// The same with the format that each is quantized to: by the first layer that does.
std::map<std::string, Format> formats_to_calibrate(const Model& model, const std::vector<Layer>& layers,
                                                   const Plan& plan);

/// Fills plan.tensors.
///
///   activations  symmetric per tensor, to the range's largest magnitude; unsigned: asymmetric, to both of its ends;
///                formats that quantize in runs: no range, or the scale of the tensor (nvfp4)
///   weights      absolute maximum per output channel; int8 beside uint8, int16 and dynamic activations
///   in blocks    absolute maximum per block along the dimension that is summed over; uint4: minimum and maximum
///   constants    of operators without weights: their own minimum and maximum, as activations
///
/// Where weights alone are quantized, scales are values of the high format, rounded up.
/// Under a target with integer kernels a carrier (placement.h) moves codes, so that its inputs and outputs share one
/// grid over all their values; an input of Concat that something else reads too keeps its own. Weight steps are widened
/// where a bias would not fit into 32 bits otherwise. Returns warnings (a range that left non-finite values out).
/// Errors: Input when a tensor has no range.
std::vector<Note> calibrate_plan(Plan& plan, const Model& model, const std::vector<Layer>& layers,
                                 const std::map<std::string, RangeStats>& ranges, const Progress& progress = {});

}  // namespace vernier
