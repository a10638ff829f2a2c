// Smaller dimensions for a model that fails a check: inputs are cropped, and channels of weights dropped, as long as
// it keeps failing.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "model/model.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {

/// Which part of each dimension of an input is left: [first, second).
using Crop = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// A model and what its samples became.
struct Shrunk {
  Model model;
  std::map<std::string, Crop> crops;  // by input; those that are not named are whole
};

/// The part of a sample that a shrunk model takes.
Sample crop(const Sample& sample, const std::map<std::string, Crop>& crops);

/// Halves dimensions until no half keeps failing: of graph inputs; of Conv and Gemm/MatMul in the main graph, output
/// channels where the result is a graph output, and input channels where the input is a graph input; weights go along.
/// `is_bad` is asked about every attempt; one that does not load is not bad. Steps are said in `notes`.
Shrunk shrink(const Model& model, const std::map<std::string, Shape>& input_shapes,
              const std::function<bool(const Shrunk&)>& is_bad, std::vector<std::string>& notes);

}  // namespace vernier
