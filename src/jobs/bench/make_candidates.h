// The rows of a bench from its options: models read, lowered and built on their runners.
#pragma once

#include <memory>
#include <vector>

#include "jobs/bench/candidate.h"
#include "vernier/bench.h"
#include "vernier/report/bench.h"
#include "vernier/sinks.h"

namespace vernier {

/// Batch by batch, in the order of the runners. Fills `report` with the data and what there is to say.
/// Errors: Usage, Input, Backend, Interrupted.
std::vector<std::unique_ptr<Candidate>> make_candidates(const BenchOptions& options, const JobSinks& sinks,
                                                        BenchReport& report);

}  // namespace vernier
