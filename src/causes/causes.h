// Why a layer is inaccurate: each cause looks at the facts and says whether it is one, with the numbers. The table in
// causes.cpp lists them all, in the order in which they are asked: events of the float formats first, then data, grids,
// weights against activations, patterns, and what no single layer is to blame for.
#pragma once

#include <span>
#include <vector>

#include "causes/facts.h"
#include "vernier/experiments.h"
#include "vernier/report/causes.h"

namespace vernier {

/// Of every examined layer in turn, the surest first; then those of the network. Empty: none was found. `own`: causes
/// of the caller's, asked behind the library's.
std::vector<Cause> find_causes(const NetworkFacts& facts, std::span<const CauseFinder> own = {});

/// What a caller's cause sees of a layer.
LayerEvidence evidence_of(const LayerFacts& layer);

/// What a layer's error is made of.
Blame blame_of(const LayerFacts& layer);

}  // namespace vernier
