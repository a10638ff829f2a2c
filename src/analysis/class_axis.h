// Along which axis of an output its classes lie, so that "the largest element" is the one that the network's users
// take.
//
// The graph says it, in this order: an ArgMax or Softmax that reads the tensor or made it; else the layout of the
// convolution (axis 1), Gemm or MatMul (last axis) that made it. Operators between them that move or compute in place
// are seen through, a Transpose and a Reshape with their change of axes: heads from TensorFlow end in a Transpose.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "model/model.h"

namespace vernier {

struct ClassAxis {
  int axis = 0;           // from 0; from -1 backwards where the rank is not known
  std::string said_by;    // "ArgMax", "Softmax", "Conv", or the option
  bool picked = false;    // an ArgMax takes the largest along it
  bool given = false;     // the user says it
  bool compared = false;  // an ArgMax or Softmax sets its elements against each other: a row is one whole
};

/// Of those of `outputs` that anything is known of. `given`: (output, axis) of the user, output "" for all; they win.
/// Errors: Usage when a given output is none of `outputs`, or has no such axis.
std::map<std::string, ClassAxis> class_axes(const Model& model, const std::vector<std::string>& outputs,
                                            const std::vector<std::pair<std::string, int>>& given = {});

}  // namespace vernier
