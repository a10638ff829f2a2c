// --junit and --github: what continuous integration is told beside the result. Both come from one Gate
// (vernier/report_page.h); neither changes what is printed on stdout.
#pragma once

#include <string>

#include "options/syntax.h"
#include "vernier/report/gate.h"

namespace vernier::cli {

struct GateGroup {
  std::string junit;
  bool github = false;

  void add(CLI::App& app);
  /// Before anything is measured. Errors: Input when the file could not be written.
  void check() const;
  bool given() const { return github || !junit.empty(); }
  /// Writes the file; GitHub's commands go to stderr, and a summary to the file that GITHUB_STEP_SUMMARY names.
  /// Errors: Input.
  void tell(const Gate& gate) const;
};

}  // namespace vernier::cli
