// The options of outside checks that the `debug` commands share, with the peer's names and meanings.
#pragma once

#include <string>

#include "options/rows.h"
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
  bool given() const { return texts_.given("--check"); }
  /// Errors: Usage; also when no check is given and there is no terminal to ask at, unless `built_in` says that the
  /// command checks by itself.
  CheckOptions values(bool built_in = false) const;

 private:
  std::string candidate_;
  Texts texts_;
  Option timeout_;
};

/// Prints to standard error, and asks: p for good, f for bad.
/// Questions go to stdout, as the peer asks them; with `json` to stderr.
CheckSinks check_sinks(Console& console, bool json = false);

}  // namespace vernier::cli
