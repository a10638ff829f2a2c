// A verdict near its limit may rest on the order in which a kernel sums: a value that lies between two codes rounds to
// either, and all layers behind it follow.
#pragma once

#include <optional>
#include <string>

#include "analysis/subject.h"
#include "vernier/report/figures.h"
#include "vernier/requirement.h"

namespace vernier {

/// Where `figures` of `typed` are within a fifth of the limit, measures once more without the runtime's graph
/// optimizations, whose fused kernels sum in another order. In words, when the verdict is another one then.
/// Cost: two plain runs over all samples, near the limit alone.
std::optional<std::string> doubt_near_limit(const Subject& subject, const Model& typed, const RunFigures& figures,
                                            const Requirement* requirement);

}  // namespace vernier
