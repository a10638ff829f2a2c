// A script of the user's that is loaded once and stays: it is given work and says what came of it, call by call.
#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "json/json.h"
#include "scripts/script_process.h"
#include "scripts/script_reply.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/samples.h"

namespace vernier {

struct SessionProgram {
  std::string program;                  // one of scripts/programs.h that asks with {"next": 1}
  std::vector<std::string> arguments;   // behind the script and its function
  std::string kind;                     // "metric scripts"
  std::string announces;                // "a value"
  ErrorCode fault = ErrorCode::Script;  // as of ScriptProcess, these three
  std::string held = "the script";
  std::function<void(std::string_view)> errors = {};
};

class ScriptSession {
 public:
  /// Starts the program and waits until it asks for work. `how`: the Python, the seconds that loading and each call may
  /// take, and what ends it.
  /// Errors: `fault`: what the script does wrong; Backend when Python cannot be started; Interrupted.
  ScriptSession(ScriptLocation script, const SessionProgram& program, const SourceOptions& how);
  ~ScriptSession();
  ScriptSession(const ScriptSession&) = delete;
  ScriptSession& operator=(const ScriptSession&) = delete;

  /// One piece of work, and what the program says to it. `place`: for messages, "iteration 3"; may be empty.
  /// Errors: `fault`, naming script and place; Interrupted. Not to be called from several threads.
  Json call(const std::string& place, Json work);

 private:
  void take(const Json& said);
  bool too_late();
  std::string where() const;

  ScratchFile scratch_;
  ScriptReply reply_;
  ScriptProcess process_;
  double seconds_ = 0;
  std::string place_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Json> work_, answers_;  // at most one each
  std::chrono::steady_clock::time_point called_;
  bool asking_ = false, closed_ = false, ended_ = false, late_ = false;
  std::exception_ptr failure_;
  std::thread thread_;  // last: it uses the others
};

}  // namespace vernier
