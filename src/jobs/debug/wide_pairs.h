// Pairs of activations whose range is far wider than the values of the samples, for no reason that a quantizer may
// have.
#pragma once

#include <cstddef>
#include <set>
#include <vector>

#include "analysis/quantizer_loss.h"
#include "analysis/subject.h"
#include "model/model.h"
#include "plan/simulate_typed.h"
#include "vernier/report/debug_loss.h"

namespace vernier {

/// Those of `pairs`, by their places in `file.quantized`, whose width no other samples explain: it is at least 3.5, and
/// 1.5 r^2 times that of the values, where r is the widest sample by the middle one. Left out: ranges that an operator
/// fixes (Sigmoid, Softmax, Tanh, Clip), and scales that another pair needs for its values. Of fewer than 4 samples
/// none. `exact`: the model of the file with float values. `losses`: of all pairs, on exact values. Cost: one run.
std::set<std::size_t> unexplained_widths(const Subject& subject, const SimulatedFile& file, const Model& exact,
                                         const std::vector<QuantizerLoss>& losses,
                                         const std::vector<std::size_t>& pairs);

bool has_zero_point(const QuantParams& params);

/// `model`, made of `file`'s, in which that pair has the range of `loss`, its values.
Model with_range_of(Model model, const QuantizedTensor& pair, const GridLoss& loss);

}  // namespace vernier
