// A verdict near its limit may rest on the order in which a kernel sums: a value that lies between two codes rounds to
// either, and all layers behind it follow. A requirement that is met in one order only is not met.
#pragma once

#include <functional>
#include <optional>

#include "analysis/output_store.h"
#include "analysis/subject.h"
#include "vernier/note.h"
#include "vernier/report/figures.h"
#include "vernier/report/kept_set.h"
#include "vernier/requirement.h"

namespace vernier {

struct BothOrders {
  RunFigures worse;          // the figures that use more of the allowance
  bool doubtful = false;     // the two orders give different verdicts
  std::optional<Note> note;  // where they do, and where they differ by more than a tenth of the allowance: both
};

/// Where `figures` of `typed` are within a factor of two of the limit, or an output differs by no more than float32
/// sums do, measures once more without the runtime's graph optimizations, whose fused kernels sum in another order. The
/// reference stays that of the optimized model. nullopt elsewhere, and without a requirement. `known`: as of
/// figures_of_file(). Cost: two plain runs over all samples, there alone.
std::optional<BothOrders> measure_other_order(const Subject& subject, const Model& typed, const RunFigures& figures,
                                              const Requirement* requirement, const OutputStore* known = nullptr);

/// The same of an objective: `test` measures it with a subject. The row that is worse; `doubt` says where the two give
/// different verdicts. Cost: one more test, near the limit and where nothing was wrong.
TestRow test_in_both_orders(const Subject& subject, const std::function<TestRow(const Subject&)>& test,
                            std::optional<Note>& doubt);

/// What the outputs of `typed`, which stands beside the subject's model, are against those of that, over all samples.
/// `known`: those, where an earlier run gave them. Cost: two plain runs; of `typed` alone where they are known.
RunFigures figures_of_file(const Subject& subject, const Model& typed, const Requirement* requirement,
                           const OutputStore* known = nullptr);

}  // namespace vernier
