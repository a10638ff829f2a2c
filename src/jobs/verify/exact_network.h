// The network of a quantized file with the float model's values where the file has quantized ones: in all of it, or in
// all but some pairs, so that one pair is judged by its own error alone.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "analysis/match_layers.h"
#include "analysis/quantizer_loss.h"
#include "analysis/subject.h"
#include "jobs/verify/float_twins.h"
#include "model/model.h"
#include "plan/simulate_typed.h"
#include "vernier/tensor.h"

namespace vernier {

struct FloatValues {
  std::map<std::string, Tensor> constants;    // by the constant of the simulated file
  std::map<std::string, Bounds> activations;  // by what a quantizer makes: it does the work of a Relu or Clip there
};

/// The float values behind a file's quantized ones. `given`: the file, normalized. `equalized`: nodes of stored weights
/// whose factors undo each other, which stay as the file has them. Quantizers stand for a dropped Relu or Clip only if
/// their grid ends where that one does.
FloatValues float_values(const Model& given, const SimulatedFile& file, const FloatWeights& weights,
                         const std::set<std::string>& equalized, std::map<std::string, Bounds> dropped);

/// A copy of `file`'s model with float values in the place of all constants in `values`, except those of pairs for
/// which `stays` holds.
Model with_float_constants(const SimulatedFile& file, const FloatValues& values,
                           const std::function<bool(std::size_t)>& stays);

/// `model`, made of `file`'s, without the roundings of activations, except those of pairs for which `stays` holds.
Model without_roundings_of_pairs(const SimulatedFile& file, Model model, const FloatValues& values,
                                 const std::function<bool(std::size_t)>& stays);

/// Float constants, and no roundings of activations, except those of pairs for which `stays` holds; values in float16
/// and bfloat16 are not rounded either, and do not overflow. Pairs that are
/// not simulated (16 bits, other scales on both sides) round nothing either; those with computed scales stay.
Model with_float_values(const SimulatedFile& file, const FloatValues& values,
                        const std::function<bool(std::size_t)>& stays);

}  // namespace vernier
