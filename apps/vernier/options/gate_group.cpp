#include "options/gate_group.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "base/file.h"
#include "options/options.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier::cli {

void GateGroup::add(CLI::App& app) {
  add_value(app, "--junit", junit, "FILE",
            "Write the verdict as JUnit XML, with a case for each measured output (default: no)")
      .writes()
      .group("Continuous integration");
  add_flag(app, "--github", github,
           "Print GitHub's workflow commands on stderr, and add a summary to $GITHUB_STEP_SUMMARY (default: no)")
      .group("Continuous integration");
}

void GateGroup::check() const {
  if (!junit.empty()) require_writable_file(junit);
}

void GateGroup::tell(const Gate& gate) const {
  if (!junit.empty()) replace_file(junit, gate_to_junit(gate));
  if (!github) return;
  // GitHub reads both streams; results alone are on stdout.
  std::fputs(gate_to_github(gate).c_str(), stderr);
  const char* summary = std::getenv("GITHUB_STEP_SUMMARY");
  if (summary == nullptr || *summary == '\0') return;
  std::ofstream out(summary, std::ios::app);
  out << gate_to_markdown(gate);
  if (!out.flush())
    throw Error(ErrorCode::FileUnwritable, std::string(summary) + ": cannot be written",
                "GITHUB_STEP_SUMMARY names the file");
}

}  // namespace vernier::cli
