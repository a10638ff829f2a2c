// Which tensors of a model a runner gives: --onnx-outputs and its relatives, as the peer means them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model/model.h"
#include "vernier/run.h"
#include "vernier/tensor.h"

namespace vernier {

/// True when every tensor is meant: "*", or "mark" "all".
bool means_all(const std::vector<std::string>& names);

/// Name and element type of the tensors chosen, in graph order: outputs of nodes of the main graph that are not
/// Constant; then inputs that are chosen by their whole names. Without a choice: the model's own outputs. Tensors whose
/// type cannot be inferred (sequences, outputs of operators that ONNX does not know) are left out by "all" and named in
/// `left_out`. Errors: Usage when a name, a pattern or an operator type matches nothing, with the nearest; or when
/// nothing is left.
std::vector<std::pair<std::string, Dtype>> choose_outputs(const Model& model, const OutputChoice& choice,
                                                          std::vector<std::string>& left_out);

}  // namespace vernier
