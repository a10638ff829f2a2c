// A quantized file as its users run it in ONNX Runtime: on this CPU or a GPU, with default optimizations. They fuse
// what lies between Q/DQ pairs into kernels that round at other places, sum otherwise, or drop what they should keep.
#pragma once

#include <optional>
#include <string>

#include "analysis/output_store.h"
#include "jobs/common/load.h"
#include "jobs/common/runtime_check.h"
#include "model/model.h"
#include "vernier/note.h"
#include "vernier/report/figures.h"
#include "vernier/requirement.h"

namespace vernier {

/// With the inputs and the judged outputs of the float model, and behind these the states.
Model marked_beside(const Model& typed, const Loaded& loaded);

/// Figures of `typed` over all samples. Absent: its weights take more than 1 GiB, or ONNX Runtime does not run it.
/// `loaded`: of the float model. `known`: its judged outputs on these samples, where the job
/// has run it already. Cost: a session, and a run of `typed` a sample; of the float model too where nothing is known.
std::optional<RunFigures> figures_by_default(const Model& typed, const Loaded& loaded, const Requirement* requirement,
                                             const OutputStore* known = nullptr, std::string* why = nullptr,
                                             DefaultPlace place = DefaultPlace::Cpu);

/// Both figures, where `there` is worse than `simulated` for another reason than pairs that saturate. Nothing: within
/// 0.5 dB, or above 50.
std::optional<Note> lost_by_default(const RunFigures& there, const RunFigures& simulated,
                                    const std::optional<SaturatedPairs>& saturated,
                                    const std::optional<Requirement>& requirement, const std::string& version);

/// Adds the layer and the session option to such a note: "layer", "operator", "option", as far as they are found.
void add_lost_fusion(Note& note, const Model& typed, const Loaded& loaded, DefaultPlace place);

/// `there` as the engine that decides about a file for ONNX Runtime: where lost_by_default() has a note, or `there`
/// misses the limit that `simulated` meets, however little it loses. Pairs that saturate have a clause of their own.
std::optional<EngineFigures> deciding_by_default(const RunFigures& there, const RunFigures& simulated,
                                                 const std::optional<SaturatedPairs>& saturated,
                                                 const std::string& version);

/// Whether the file has operators on quantized values, or of com.microsoft: the operator form of ONNX Runtime, whatever
/// target was named.
bool is_for_onnxruntime(const Model& typed);

struct UsersGet {
  std::optional<Note> note;             // of lost_by_default(), or that ONNX Runtime refuses the file
  std::optional<EngineFigures> decide;  // deciding_by_default()
  bool refused = false;                 // at a later sample, too
};
/// Of a file that was given. `all_samples`: by figures_by_default(), and at its cost; else the first sample alone.
UsersGet what_users_get(const Model& typed, const Loaded& loaded, const RunFigures& simulated,
                        const std::optional<SaturatedPairs>& saturated, const std::optional<Requirement>& requirement,
                        bool all_samples);

}  // namespace vernier
