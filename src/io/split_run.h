// Outputs that a framework saved in one go: logits=[N, ...] for N samples.
#pragma once

#include <cstddef>
#include <memory>

#include "vernier/runs.h"

namespace vernier {

/// `whole`, which has one iteration, as `samples` of them, without a copy of its values. `like` is what another run
/// gave for one sample: an array fits when it is [samples, *shape of its namesake there], or the namesake's shape with
/// a first axis that is `samples` times as long. Arrays without a namesake fit when their first axis divides; else they
/// are left out. Null when a namesake does not fit, there is none, or `whole` has several iterations. Memory: all of
/// its arrays, as long as the result or a tensor of it lives.
std::unique_ptr<Run> split_run(const Run& whole, std::size_t samples, const Iteration& like);

}  // namespace vernier
