// How the values of the worst layers lie on their grids: histograms of the float network against the low one, and the
// range of every channel, of what a layer reads, its weight and what it makes. For reports; nothing is decided by it.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "analysis/subject.h"
#include "plan/lower_simulated.h"
#include "plan/plan.h"
#include "vernier/report/pictures.h"
#include "vernier/tensor.h"

namespace vernier {

inline constexpr std::size_t kMostPictures = 20;
inline constexpr std::size_t kPictureBins = 64;

/// Pictures of the first of `layers` (kMostPictures, and fewer where their tensors are large) that are low in `plan`
/// and in the main graph, over `samples`. Layers in formats with a scale are drawn on a linear axis, others on a
/// logarithmic one. A weight of more than 16 M elements is not drawn.
/// Cost: two runs of the samples. Memory: the tensors looked at, of one sample per thread, 16 M elements at most.
std::vector<LayerPicture> layer_pictures(const Subject& subject, const Plan& plan, RoundedWeights& weights,
                                         const std::vector<std::string>& layers,
                                         const std::vector<std::size_t>& samples,
                                         const std::map<std::string, Shape>& shapes);

}  // namespace vernier
