// Random samples in commands that Polygraphy has too: its values, so that results saved by either can be compared.
#pragma once

#include "vernier/samples.h"

namespace vernier {

/// Polygraphy does not know which integers index a table: it draws them from [0, 1], like every other input. Measuring
/// jobs draw them from the whole table instead, which says more about a network.
inline SourceOptions like_the_peer(SourceOptions source) {
  source.value_ranges.try_emplace("", 0.0, 1.0);
  return source;
}

}  // namespace vernier
