// Sums behind a layer whose operands nearly cancel: what is left of them is as wrong as they are.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "causes/facts.h"
#include "model/graph_walk.h"
#include "model/model.h"

namespace vernier {

/// Add, Sub and Sum behind `tensor`, and behind sums, products and means of it.
std::vector<const onnx::NodeProto*> sums_behind(const GraphWalk& walk, const std::string& tensor);

/// Root mean square of an activation that was counted; nullopt: it was not, or it holds a mask.
using RmsOf = std::function<std::optional<double>(const std::string& tensor)>;

/// Of the sums behind `tensor` the one that cancels most.
std::optional<CancelledBehind> cancelled_behind(const Model& model, const GraphWalk& walk, const std::string& tensor,
                                                const RmsOf& rms_of);

/// The x of a sum that is |x|^2 + |c|^2 - 2 x.c, its terms in any order, with factors, c a weight or computed. Empty:
/// it is something else.
std::string distances_of(const Model& model, const GraphWalk& walk, const onnx::NodeProto& sum);

}  // namespace vernier
