// X^T X of what weighted layers multiply their weights with, summed over samples inside the graph: what rounding a
// weight for its layer's output needs (numerics/gptq.h).
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "analysis/subject.h"
#include "numerics/gptq.h"
#include "vernier/tensor.h"

namespace vernier {

/// Of the layers named: Conv, whose patches are taken apart, and Gemm and MatMul with a weight of two dimensions
/// behind. On exact inputs, over the samples of each of `parts`, none of which shares one with another; in the order of
/// `parts`. Of the positions of a Conv at most about 500 a sample
/// are looked at, evenly spread. Others, and those whose shapes are not known, are absent. Cost: a plain inference, and
/// K / M times a layer's own multiply-adds for those looked at, K inputs, M results. Memory: K^2 floats for each layer
/// and part, and once more.
std::map<std::string, std::vector<InputProducts>> input_products(const Subject& subject,
                                                                 const std::vector<std::string>& layers,
                                                                 const std::map<std::string, Shape>& shapes,
                                                                 const std::vector<std::vector<std::size_t>>& parts);

}  // namespace vernier
