// The beginning that jobs share which measure: read, prepare, open the samples, and decide what is judged.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/judged_views.h"
#include "analysis/subject.h"
#include "base/partial_runs.h"
#include "jobs/common/sources.h"
#include "model/prepare.h"
#include "vernier/format.h"
#include "vernier/measure.h"
#include "vernier/note.h"
#include "vernier/onnx_model.h"
#include "vernier/samples.h"
#include "vernier/sinks.h"

namespace vernier {

/// The code of the warning of a job that was given no samples.
inline constexpr const char* kRandomInputs = "random-inputs";

/// A network that is ready to be measured.
struct Loaded {
  std::shared_ptr<const Model> original;  // as the file has it; shared with the sources
  std::shared_ptr<const SampleSource> samples;
  std::shared_ptr<const SampleSource> calibration;  // null: the ranges are learned on `samples`
  Subject subject;                                  // its samples point to the ones here
  std::vector<JudgedView> views;                    // outputs of the subject that are not those of the file
  PrepareOptions preparation;                       // without inlining Ifs
  bool inlined_ifs = false;
  std::shared_ptr<PartialRuns> partial;  // where long runs keep what they have; null: nowhere
  bool rounds = false;                   // its file is in low precision itself, and what that says is simulated
  std::vector<Note> warnings;
  std::vector<Note> notes;
  std::vector<Note> output_notes;  // which outputs are judged part by part, and which are not judged
};

/// The model of `source`, prepared as said, with Ifs inlined, and its samples. What is judged may be nothing: outputs
/// of a run may all be integers. Errors: whatever reading, preparing or opening refuses.
Loaded load(const OnnxModel& source, const PrepareOptions& preparation, Sources& sources);

/// The same, to be judged: outputs of other types are judged by what is float behind them (judged_views.h). Errors:
/// Input when nothing is.
Loaded load_judged(const OnnxModel& source, const PrepareOptions& preparation, Sources& sources);

/// Lets fronts judge those outputs of `subject` whose number of elements the scores decide (picked_outputs.h), and
/// those among `others`, integers. Adds them to its judged outputs. Returns a note for each of these outputs.
std::vector<Note> judge_picked_outputs(Subject& subject, const std::vector<std::string>& others,
                                       std::vector<JudgedView>& views);

/// Errors: Input if the float samples hold a fraction for an input that `typed` reads as integers: a cast would lose
/// it. The first samples are checked.
void require_values_of_inputs(const Loaded& loaded, const Model& typed);

/// Gives another model of the network, simulated from a typed file, the inputs of the one that was loaded, which may be
/// halves, and lets its outputs be judged alike. Errors: Input when an output cannot be, as integers without a scale.
void fit_beside(Model& simulated, const Loaded& loaded);

/// That an interrupted run went on; nothing when none did.
std::optional<Note> resumed_note(const Loaded& loaded);

}  // namespace vernier
