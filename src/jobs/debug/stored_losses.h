// What weights lose that a layer stores itself, as a MatMulNBits does, without a pair.
#pragma once

#include <map>
#include <string>

#include "jobs/verify/float_twins.h"
#include "model/model.h"
#include "vernier/report/debug_loss.h"

namespace vernier {

struct StoredLoss {
  QuantizerLoss loss;  // its node: the layer
  int bits = 8;
};
using StoredLosses = std::map<std::string, StoredLoss>;  // by the constant with the codes

/// Of those with a float weight in `weights`, and with zero points that are integers. `file`: as normalized_pairs()
/// gives it.
StoredLosses losses_of_stored(const Model& file, const FloatWeights& weights);

}  // namespace vernier
