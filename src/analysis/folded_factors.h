// Constant factors that the float model multiplies a product with, and that a file holds in the product's weight: alpha
// and beta of a Gemm, Mul and Div behind it. Nothing is wrong with such a weight.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "analysis/match_layers.h"
#include "analysis/subject.h"
#include "model/model.h"
#include "vernier/tensor.h"

namespace vernier {

/// What a constant of the file should hold: that of the float model times the factor.
struct FoldedConstant {
  std::string name;  // in the float model
  Tensor values;
};

struct FoldedFactors {
  std::map<std::string, FoldedConstant> constants;  // weights and biases, by the constant of the file
  std::set<const onnx::NodeProto*> products;        // of the file, that hold a factor
  std::vector<std::size_t> unlike;                  // matches inside of such a layer, of which one lacks the factor
};

/// Of the products that are twins by `matches` and by their values. A weight holds a factor if most of its values are
/// nearer to those of the float model times the factor than to those without. Valid while `simulated` is. Cost: linear
/// in both models and in the weights of layers with such factors.
FoldedFactors find_folded_factors(const Subject& subject, const Model& simulated, const LayerMatches& matches);

}  // namespace vernier
