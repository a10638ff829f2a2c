// Outside checks: which program judges a candidate, by what, and what becomes of its files.
#pragma once

#include "table/row.h"
#include "vernier/check.h"

namespace vernier::table {

inline constexpr auto kCheck =
    table("CheckOptions", "Check",
          row(&CheckOptions::command, "--check,--check-inference CMD...",
              "The check: a program with its arguments, up to the end of the line, started without a shell. Exit code "
              "0 is good. Exit codes 2, 3, 4 and 70 of vernier itself mean no verdict (default: you are asked)")
              .by_hand(),
          row(&CheckOptions::fail_codes, "--fail-code,--fail-returncode N",
              "Only these exit codes are bad; -N for signal N (default: all except 0)")
              .by_hand(),
          row(&CheckOptions::ignored_codes, "--ignore-fail-code,--ignore-fail-returncode N",
              "These exit codes are good (default: only 0)")
              .by_hand(),
          row(&CheckOptions::fail_regexes, "--fail-regex RE",
              "Bad if a line of the check's output matches this ECMAScript expression; start with (?i) to ignore case. "
              "With --fail-code, both must hold (default: none)"));
inline constexpr auto kCheckTimeout =
    row(&CheckOptions::timeout_seconds, "--timeout SECONDS",
        "Time limit of one check; a check that takes longer has no verdict (default: none)")
        .by_hand();
inline constexpr auto kCheckOutput =
    table("CheckOptions", "Check", row<CheckOptions>("--show-output", "Show the output of every check"),
          row<CheckOptions>("--hide-fail-output",
                            "Never show the output of checks (default: show it unless the check is good)"));

inline constexpr auto kCandidate = row(&CheckOptions::candidate, "--iter-artifact,--intermediate-artifact FILE",
                                       "The file that the check reads (default: polygraphy_debug.onnx)")
                                       .writes();
inline constexpr auto kKeepCandidate =
    row(&CheckOptions::keep_candidate, "--no-remove-intermediate", "Keep the last of these files");
inline constexpr auto kArtifacts =
    table("CheckOptions", "Artifacts and replay",
          row(&CheckOptions::iteration_info, "--iter-info,--iteration-info FILE",
              "File that receives {\"iteration\": N} before each check (default: none)")
              .writes(),
          row(&CheckOptions::artifacts, "--artifacts PATH",
              "Files that a check writes, moved to good/, bad/ or invalid/ (default: none)")
              .writes(),
          row(&CheckOptions::artifacts_dir, "--art-dir,--artifacts-dir DIR",
              "Folder of good/, bad/ and invalid/ (default: polygraphy_artifacts)")
              .writes(),
          row(&CheckOptions::load_replay, "--load-debug-replay FILE",
              "Reuse the verdicts of an earlier run on the same model (default: none)"),
          row(&CheckOptions::save_replay, "--save-debug-replay FILE",
              "Record verdicts in this file (default: polygraphy_debug_replay.json)")
              .writes());

}  // namespace vernier::table
