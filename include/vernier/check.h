// An outside check: any program that looks at a candidate (a model in a file) and says by its exit code whether it is
// good. What `vernier debug reduce`, `precision`, `build` and `repeat` share with the peer's --check options.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace vernier {

/// When the output of a check is shown. It is captured either way, for the regular expressions.
enum class CheckOutput { WhenBad, Always, Never };

struct CheckOptions {
  /// The program and its arguments, started without a shell. Empty: a person is asked after each iteration.
  std::vector<std::string> command;
  /// Which ends are bad. A code is the exit code, or minus the signal that ended the program.
  ///   ignored code          -> good
  ///   codes only            -> bad when the code is listed
  ///   expressions only      -> bad when one is found, whatever the code
  ///   both                  -> bad when the code is listed and an expression is found
  ///   neither               -> bad when the code is not 0
  /// At most one of `fail_codes` and `ignored_codes` may be given. Whatever they say, 2, 3, 4 and 70 of vernier itself
  /// mean that the candidate could not be judged.
  std::vector<int> fail_codes;
  std::vector<int> ignored_codes;
  /// ECMAScript regular expressions, searched in each line of standard output and standard error; "(?i)" in front: in
  /// upper and lower case.
  std::vector<std::string> fail_regexes;
  CheckOutput show = CheckOutput::WhenBad;
  double timeout_seconds = 0;  // of one check; 0: none

  std::filesystem::path candidate = "polygraphy_debug.onnx";
  bool keep_candidate = false;  // the last one stays
  /// {"iteration": N}, written before each check and removed behind it; empty: none.
  std::filesystem::path iteration_info;

  /// Files or folders that a check leaves behind: moved to ARTIFACTS_DIR/{good,bad,invalid}/ under a name with date,
  /// time and iteration.
  std::vector<std::filesystem::path> artifacts;
  std::filesystem::path artifacts_dir = "polygraphy_artifacts";

  /// Verdicts of an earlier run, which are believed; empty: none.
  std::filesystem::path load_replay;
  /// Where verdicts are recorded, after each iteration; empty: nowhere.
  std::filesystem::path save_replay = "polygraphy_debug_replay.json";
};

/// Where a loop of checks talks to a person. Each may be empty.
struct CheckSinks {
  /// Progress of the loop in words of the command, and captured output: for standard error as it is.
  std::function<void(const std::string&)> say;
  /// "FILE: good or bad?": true for good; nullopt when nobody answers any more.
  std::function<std::optional<bool>(const std::string& question)> ask;
};

}  // namespace vernier
