// A function of the user's on what runners gave: --compare-func-script and --postprocess-func-script. The script is
// loaded once and stays for the whole job; it sees iterations one after the other.
#pragma once

#include <cstddef>
#include <string>

#include "base/scratch_folder.h"
#include "json/json.h"
#include "scripts/script_session.h"
#include "vernier/comparison.h"
#include "vernier/runs.h"
#include "vernier/samples.h"
#include "vernier/sinks.h"

namespace vernier {

class IterationScript {
 public:
  enum class Kind { Compare, Postprocess };

  /// Loads the script. `how`: the Python, and the seconds that loading and each call may take.
  /// Errors: Usage when `script` names no Python file; Input: what the script does wrong; Backend when Python cannot be
  /// started.
  IterationScript(const std::string& script, Kind kind, const SourceOptions& how, const JobSinks& sinks);

  /// What the function makes of the outputs of one runner; its seconds stay.
  /// Errors of both: Input, naming script and iteration; Interrupted. Not to be called from several threads.
  Iteration postprocess(std::size_t index, const std::string& run, const Iteration& iteration);

  /// Puts the function's verdicts into `comparison`, which has no others: outputs that it says nothing of are left out.
  void judge(IterationComparison& comparison, const std::string& run, const std::string& reference,
             const Iteration& got, const Iteration& ref);

 private:
  Json call(std::size_t index, Json work);

  ScratchFolder folder_;
  ScriptSession session_;
};

}  // namespace vernier
