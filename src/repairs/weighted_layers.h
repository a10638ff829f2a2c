// Layers of the main graph that run in a scaled format with a constant weight: what the repairs of weights, ranges and
// biases walk over.
#pragma once

#include <string>
#include <vector>

#include "repairs/repair.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier {

struct WeightedLayer {
  const Layer* layer = nullptr;
  const onnx::NodeProto* node = nullptr;
  Format format = Format::Int8;
  std::string data;    // the activation it reads
  std::string weight;  // initializer, input 1
  std::string bias;    // initializer, input 2; empty: none
};

/// Those whose weight has a grid in the plan, in graph order.
std::vector<WeightedLayer> weighted_layers(const Network& network);

/// Largest magnitudes of a weight along one dimension: one for each index of `axis`.
std::vector<float> absmax_along(const Tensor& weight, int axis);

}  // namespace vernier
