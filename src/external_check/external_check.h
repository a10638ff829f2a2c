// One outside check of one candidate: the program is run, and how it ended becomes a verdict.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/process.h"
#include "search/oracle.h"
#include "vernier/check.h"

namespace vernier {

struct CheckAnswer {
  Verdict verdict = Verdict::Invalid;
  int code = 0;     // exit code, or minus the signal; 0 when a person answered
  std::string why;  // "ended with exit code 1", "'mismatch' was found in its output"
  double seconds = 0;
  std::string output, errors;  // what it wrote; of more than 8 MB the end
};

/// The verdict on a check that ended like that (CheckOptions says the rules). Interrupted ends have none: Invalid.
/// Errors: Usage when an expression is none.
CheckAnswer judge(const CheckOptions& options, const ProcessEnd& end, std::string output, std::string errors);

/// Runs the check, or asks when there is no command. Errors: Backend when the program cannot be started; Interrupted.
CheckAnswer run_check(const CheckOptions& options, const CheckSinks& sinks, const std::function<bool()>& interrupted);

/// Usage when the options contradict each other or an expression is none; before anything is read or run.
void validate(const CheckOptions& options);

/// True when `program`, as typed, is vernier: by its name, or because it is the running program.
bool is_vernier(const std::string& program);

/// "good", "bad", "invalid", "timed out", "unstable".
std::string_view verdict_text(Verdict verdict);

}  // namespace vernier
