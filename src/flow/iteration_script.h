// A function of the user's on what runners gave: --compare-func-script and --postprocess-func-script. The script is
// loaded once and stays for the whole job; it sees iterations one after the other.
#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "data/script_process.h"
#include "flow/scratch_folder.h"
#include "flow/script_reply.h"
#include "vernier/comparison.h"
#include "vernier/jobs.h"

namespace vernier {

class IterationScript {
 public:
  enum class Kind { Compare, Postprocess };

  /// Loads the script. `how`: the Python, and the seconds that loading and each call may take.
  /// Errors: Usage when `script` names no Python file; Input: what the script does wrong; Backend when Python cannot be
  /// started.
  IterationScript(const std::string& script, Kind kind, const SourceOptions& how, const JobSinks& sinks);
  ~IterationScript();
  IterationScript(const IterationScript&) = delete;
  IterationScript& operator=(const IterationScript&) = delete;

  /// What the function makes of the outputs of one runner; its seconds stay.
  /// Errors of both: Input, naming script and iteration; Interrupted. Not to be called from several threads.
  Iteration postprocess(std::size_t index, const std::string& run, const Iteration& iteration);

  /// Puts the function's verdicts into `comparison`, which has no others: outputs that it says nothing of are left out.
  void judge(IterationComparison& comparison, const std::string& run, const std::string& reference,
             const Iteration& got, const Iteration& ref);

 private:
  nlohmann::json call(std::size_t index, nlohmann::json work);
  void take(const nlohmann::json& said);
  bool too_late();

  ScratchFolder folder_;
  ScratchFile scratch_;
  ScriptReply reply_;
  ScriptProcess process_;
  double seconds_ = 0;
  std::string place_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<nlohmann::json> work_, answers_;  // at most one each
  std::chrono::steady_clock::time_point called_;
  bool asking_ = false, closed_ = false, ended_ = false, late_ = false;
  std::exception_ptr failure_;
  std::thread thread_;  // last: it uses the others
};

}  // namespace vernier
