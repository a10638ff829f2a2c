// Measuring a typed model beside a float one whose file and samples a job has read already. The public verify() reads
// both.
#pragma once

#include <optional>

#include "analysis/output_store.h"
#include "jobs/common/load.h"
#include "jobs/common/sources.h"
#include "model/model.h"
#include "plan/simulate_typed.h"
#include "vernier/arithmetic.h"
#include "vernier/report/verify.h"
#include "vernier/sinks.h"
#include "vernier/verify.h"

namespace vernier {

/// As verify() (vernier/verify.h), with `typed` in the place of options.typed_model, which is only recorded, and the
/// float model and the samples of `sources`, which belong to options.measure. `sinks`: for warnings; progress goes to
/// those of the sources. `known`: judged outputs of the float model on these samples, where the job has run it already;
/// then layers are compared only where something inside stops being finite. Without `known`, what the file stores is
/// compared with the float model, too. `as_users_run_it`: also in ONNX Runtime with its default optimizations.
VerifyReport verify_model(const Model& typed, const VerifyOptions& options, Sources& sources, const JobSinks& sinks,
                          const OutputStore* known = nullptr, bool as_users_run_it = false);

/// `typed` in pair form, for the simulation: its figures are the same on every machine then. Absent where it does not
/// compute on codes, or the float model does so itself: what both have runs as it is in both.
std::optional<Model> pairs_of_operators(const Model& typed, const Model& float_model);

/// Lets `simulated`, made of `typed`, be measured beside the model that was loaded. The file keeps its Ifs: the same
/// ones are inlined, so that the bodies' layers meet their twins. Both share one opset: a file below the float model's
/// is raised.
void bring_beside(const Loaded& loaded, const Model& typed, Model& simulated);

/// The float model in `float_model`, ready to be measured beside `typed`; `simulated`, made of `typed`, is brought to
/// the same opset and has the same Ifs inlined. `arithmetic`: of a reference that rounds.
/// Errors: Input when inputs or outputs differ.
Loaded load_beside(const Model& typed, SimulatedFile& simulated, const OnnxModel& float_model, Sources& sources,
                   const Arithmetic& arithmetic = {});

}  // namespace vernier
