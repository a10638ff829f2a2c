// Outputs whose elements the scores of a sample pick: as many as NonMaxSuppression, NonZero, Compress, Unique, or a
// TopK, Slice or Range with a computed size leaves, or a fixed number that the places of a TopK, ArgMax or
// NonMaxSuppression say. Two forms of a network pick other elements, or in another order, as soon as scores differ a
// little, so that no element of such an output has a partner. They are judged by the float tensors in front of what
// picks, which are given out beside them, and the picks are counted.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "model/model.h"

namespace vernier {

/// A tensor by the way to it from an output, so that another form of the network has it as well.
struct TensorBehind {
  struct Step {
    std::string op_type;
    int input = 0;
    bool operator==(const Step&) const = default;
  };
  std::string output;       // where the way begins
  std::vector<Step> steps;  // without what rounds, casts or hands on
  std::string tensor;       // in the model where it was found
  std::string given;        // what it is called once it is given out
};

struct PickedOutputs {
  std::vector<TensorBehind> fronts;  // float tensors that the picks depend on
  std::vector<TensorBehind> picks;   // the places that were picked
  std::set<std::string> outputs;     // that these judge, and no element of theirs
  std::set<std::string> layered;     // those with weighted layers behind the picks, which are judged themselves, too
};

/// Of outputs in `wanted` whose shape is open, and of float ones of any shape without layers behind chosen places. None
/// where the picks depend on inputs and constants alone: all forms of the network pick the same.
PickedOutputs find_picked_outputs(const Model& model, const std::set<std::string>& wanted);

/// The tensor of `model`, another form of the network, that `behind` names; empty: it has no such way.
std::string tensor_of(const Model& model, const TensorBehind& behind);

}  // namespace vernier
