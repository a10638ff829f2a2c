// Weights of an examined layer before and after rounding, in bins that a picture can show; activations are
// compare/pictures.h.
#pragma once

#include <vector>

#include "causes/facts.h"
#include "vernier/causes.h"

namespace vernier {

/// 64 bins of equal width each.
std::vector<TensorPicture> pictures_of(const LayerFacts& layer);

}  // namespace vernier
