// Which of several weights has a factor that any of them could have: without biases between layers, a factor of one
// gives the same outputs as that of another. Equalization makes the range of each channel the same in the layer that
// makes it and in the one that reads it; a wrong scale moves all channels of one layer.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "model/model.h"

namespace vernier {

/// A weight of the main graph, and the factor that it may need.
struct FactorSuspect {
  std::string constant;
  double factor = 1;
};

/// The suspect whose factor leaves ranges of neighbouring layers most alike, and its own nearly the same. nullopt:
/// there is none, or two leave them as much. Ranges that SmoothQuant or AWQ left unequal name no layer.
std::optional<std::size_t> most_balanced(const Model& model, const std::vector<FactorSuspect>& suspects);

}  // namespace vernier
