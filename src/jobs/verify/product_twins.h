// Weights of products that a file writes in another form than its float model: a MatMul and an Add as Gemm, a Linear as
// 1x1 Conv, a Conv1d as Conv2d, the products for queries, keys and values packed into one.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "jobs/verify/float_twins.h"
#include "model/model.h"

namespace vernier {

/// Adds to `weights` the float values behind weights and biases of products whose weight has none yet. Products are
/// twins if their weights, as matrices [outputs, inputs], agree by value: row by row up to scale and shift, so that a
/// wrong scale, zero point or sign does not hide them. One of the file may hold the rows of several of the float model,
/// or some of one. What agrees with nothing is the twin of what is left, if that is as much. `places`: the product of
/// the float model that computes the same layer, both by what they make; one of another layer is FloatWeight::instead.
/// `types`: of the simulated model, inferred where they are asked for first. Cost: products of both files times each
/// other, on a few thousand values of each.
void add_product_twins(const Model& float_model, const Model& simulated,
                       const std::map<std::string, std::string>& places,
                       std::optional<std::map<std::string, ValueType>>& types, FloatWeights& weights);

}  // namespace vernier
