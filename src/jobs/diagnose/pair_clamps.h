// Pairs that do more than round. A converter that folds a ReLU6 into the quantizer behind it leaves no other trace of
// it than the ends of the grid: without the pair the activation is gone (every conversion of TFLite looks like this).
//
// The file does not say which ends are activations and which only cut off outliers, so the file is run and each end is
// judged by what it cuts:
//   - values below a grid that begins at 0: a ReLU, since a range learned on negative values begins below 0;
//   - more than 1 % of the values: no calibration leaves out that many;
//   - values above a grid that ends at 6, behind a ReLU: a ReLU6.
// What other ends cut is an error of the file. Where that outweighs all of its rounding, the file cannot tell the two
// apart, and only its float model can.
#pragma once

#include <vector>

#include "jobs/common/sources.h"
#include "model/model.h"
#include "plan/simulate_typed.h"
#include "vernier/note.h"

namespace vernier {

struct PairClamps {
  Clamps kept;
  std::vector<Note> notes;
};

/// The ends that are activations, on the first of `sources`' samples. Cost: one pass over at most 16 samples; two more
/// where ends that are dropped cut anything. Errors: Input, naming the pair, when the network without the other ends
/// differs from the file by more than its rounding explains.
PairClamps find_pair_clamps(const Model& typed, Sources& sources);

}  // namespace vernier
