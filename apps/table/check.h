// Outside checks: which program judges a candidate, by what, and what becomes of its files.
#pragma once

#include "table/row.h"
#include "vernier/check.h"

namespace vernier::table {

inline constexpr auto kCheck = table(
    "CheckOptions", "Check",
    row(&CheckOptions::command, "--check,--check-inference CMD...",
        "The check: a program and its arguments, to the end of the line; started without a shell. Exit code 0 is good. "
        "2, 3, 4 and 70 of vernier itself mean that it could not judge (default: you are asked)")
        .by_hand(),
    row(&CheckOptions::fail_codes, "--fail-code,--fail-returncode N",
        "Only these exit codes are bad; -N for signal N (default: every code but 0)")
        .by_hand(),
    row(&CheckOptions::ignored_codes, "--ignore-fail-code,--ignore-fail-returncode N",
        "These exit codes are good (default: only 0)")
        .by_hand(),
    row(&CheckOptions::fail_regexes, "--fail-regex RE",
        "Bad when a line of the check's output holds this ECMAScript expression, in any case behind (?i); with "
        "--fail-code both are needed (default: none)"));
inline constexpr auto kCheckTimeout =
    row(&CheckOptions::timeout_seconds, "--timeout SECONDS",
        "Time for one check; one that takes longer is neither good nor bad (default: none)")
        .by_hand();
inline constexpr auto kCheckOutput =
    table("CheckOptions", "Check", row<CheckOptions>("--show-output", "Show the output of every check"),
          row<CheckOptions>("--hide-fail-output", "Show the output of no check (default: of those not good)"));

inline constexpr auto kCandidate = row(&CheckOptions::candidate, "--iter-artifact,--intermediate-artifact FILE",
                                       "Where the check finds what it judges (default: polygraphy_debug.onnx)")
                                       .writes();
inline constexpr auto kKeepCandidate =
    row(&CheckOptions::keep_candidate, "--no-remove-intermediate", "Keep the last of these files");
inline constexpr auto kArtifacts =
    table("CheckOptions", "Artifacts and replay",
          row(&CheckOptions::iteration_info, "--iter-info,--iteration-info FILE",
              "Write {\"iteration\": N} here before each check (default: nowhere)")
              .writes(),
          row(&CheckOptions::artifacts, "--artifacts PATH",
              "What a check leaves behind: moved to good/, bad/ or invalid/ (default: none)")
              .writes(),
          row(&CheckOptions::artifacts_dir, "--art-dir,--artifacts-dir DIR",
              "Where they are moved to (default: polygraphy_artifacts)")
              .writes(),
          row(&CheckOptions::load_replay, "--load-debug-replay FILE",
              "Believe the verdicts of an earlier run on the same model (default: none)"),
          row(&CheckOptions::save_replay, "--save-debug-replay FILE",
              "Record verdicts here (default: polygraphy_debug_replay.json)")
              .writes());

}  // namespace vernier::table
