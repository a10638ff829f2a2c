// Where float32 layers that read TF32 make the difference between two kinds of sums: which layer, and what it reads.
#pragma once

#include <functional>
#include <optional>

#include "analysis/output_store.h"
#include "analysis/subject.h"
#include "model/model.h"
#include "vernier/note.h"
#include "vernier/report/figures.h"

namespace vernier {

/// The typed file simulated with these sums, brought beside the subject's model.
using SimulateWith = std::function<Model(const Arithmetic& arithmetic)>;

/// In words; empty where float16 sums, or nothing, make `figures` with all that was measured (kMeasuredArithmetic)
/// worse than `plain` with float32 sums by 3 dB, and where they are at 50 dB or better. `known`: as of
/// figures_of_file(). Cost: nothing where the two are near; else a plain run, and one for each of at most eight layers.
std::optional<Note> tf32_reads(const Subject& subject, const SimulateWith& simulate, const RunFigures& plain,
                               const RunFigures& figures, const OutputStore* known);

}  // namespace vernier
