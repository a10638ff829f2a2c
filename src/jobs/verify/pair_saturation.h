// What a file with int8 weights gives on an x86 CPU without VNNI (plan/saturating_pairs.h).
#pragma once

#include <optional>

#include "analysis/output_store.h"
#include "analysis/subject.h"
#include "model/model.h"
#include "plan/simulate_typed.h"
#include "vernier/note.h"
#include "vernier/report/figures.h"
#include "vernier/requirement.h"
#include "vernier/target.h"

namespace vernier {

struct PairSaturation {
  std::optional<SaturatedPairs> found;  // absent: no pair of products saturates on the samples
  std::optional<Note> note;             // what was not simulated
};

/// Of `typed` over all samples, in OpenVINO where that is the target, else in ONNX Runtime; `file` is its simulation,
/// brought beside the subject's model. Nothing is found where ONNX Runtime does not run `typed`. `known`: as of
/// figures_of_file(). Cost: nothing without weights in int8; without a kernel that may saturate one session, or none
/// for OpenVINO; else two plain runs more, of `file` alone where outputs are known, and one for each of the eight worst
/// layers and the file without saturation.
PairSaturation measure_pair_saturation(const Subject& subject, const Model& typed, const SimulatedFile& file,
                                       Target target, const Requirement* requirement,
                                       const OutputStore* known = nullptr);

/// Whether a report for `target` warns of it: of a file with int8 data, which another engine may be meant to run, only
/// where ONNX Runtime loses a dB or the requirement. `exact`: the figures without saturation.
bool is_worth_a_warning(const SaturatedPairs& found, const RunFigures& exact, Target target);

/// The warning: which layer, how many pairs, and both figures; `in_sample`: of samples that calibrated the file.
Note saturation_note(const SaturatedPairs& found, const RunFigures& exact,
                     const std::optional<Requirement>& requirement, bool in_sample = false);

}  // namespace vernier
