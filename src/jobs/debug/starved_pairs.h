// Activations whose one scale rounds small values to zero. Pooled errors do not show them: a layer behind that evens
// values out, as a norm or a Log does, makes them count.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "analysis/quantizer_loss.h"
#include "analysis/subject.h"
#include "jobs/debug/pair_reasons.h"
#include "model/model.h"
#include "plan/simulate_typed.h"

namespace vernier {

struct StarvedPair {
  std::size_t channels = 0, starved = 0;  // along the dimension where most are; starved: none of its values is left
  int axis = 0;
  double vanished = 0;  // share of all values
};

/// By their places in `file.quantized`: pairs of integers with one scale that round a channel or 1 % of the values to
/// zero, and not those of weights. `exact`: the file's model with float values everywhere. `losses`, `skipped`: as of
/// find_lost_pairs(). Cost: a run of the subject's samples.
std::map<std::size_t, StarvedPair> find_starved_pairs(const Subject& subject, const SimulatedFile& file,
                                                      const Model& exact, const std::vector<GridLoss>& losses,
                                                      const std::set<std::string>& skipped);

/// Why such a pair loses what it does. `cure`: of a pair with too few levels.
PairReason reason_of(const StarvedPair& starved, std::string cure);

}  // namespace vernier
