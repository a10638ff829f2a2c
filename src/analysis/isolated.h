// Own error of the layers of any low model, whoever made it: each piece of it between matched tensors is run on the
// reference's values of what it reads. Where own_error.h follows a plan, this follows the low model's graph.
#pragma once

#include <optional>
#include <vector>

#include "analysis/subject.h"
#include "analysis/surgery.h"

namespace vernier {

/// One entry for each match, absent where its piece of `low` cannot be cut out: it reads an unmatched tensor far away,
/// or holds a node with a body.
/// Cost: about 3.5 plain inferences a sample. Memory: does not grow with samples.
std::vector<std::optional<ErrorStats>> isolated_errors(const Subject& subject, const Model& low,
                                                       const std::vector<Match>& matches);

}  // namespace vernier
