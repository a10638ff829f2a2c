// The options of outside checks that the `debug` commands share, with the peer's names and meanings.
#pragma once

#include <string>
#include <vector>

#include "options/syntax.h"
#include "vernier/check.h"

namespace vernier::cli {

class Console;

class CheckGroup {
 public:
  /// `candidate`: the file that each iteration writes, "polygraphy_debug.onnx"; empty when the command writes none.
  /// Shares --timeout with the options of samples when those were added before.
  void add(CLI::App& app, const std::string& candidate);
  /// True when --check was given. Without it a person is asked.
  bool given() const { return !command_.empty(); }
  /// Errors: Usage; also when no check is given and there is no terminal to ask at, unless `built_in` says that the
  /// command checks by itself.
  CheckOptions values(bool built_in = false) const;

 private:
  std::string command_, candidate_, iteration_info_, timeout_text_;
  std::string artifacts_dir_ = "polygraphy_artifacts";
  std::string load_replay_, save_replay_ = "polygraphy_debug_replay.json";
  std::vector<std::string> fail_codes_, ignored_codes_, fail_regexes_, artifacts_;
  bool show_output_ = false, hide_fail_output_ = false, keep_ = false;
  Option timeout_;
};

/// Prints to standard error, and asks there: p for good, f for bad.
CheckSinks check_sinks(Console& console);

}  // namespace vernier::cli
