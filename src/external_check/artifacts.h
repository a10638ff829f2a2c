// Files that checks leave behind, sorted by verdict.
#pragma once

#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include "search/oracle.h"
#include "vernier/check.h"

namespace vernier {

/// Moves the artifacts that are there to DIR/{good,bad,invalid}/STEM_MM-DD-YY_HH-MM-SS_SUFFIX.EXT; a name that is taken
/// gets "-2", "-3" behind it. Returns those that were not there.
/// Errors: Input when one cannot be moved.
std::vector<std::filesystem::path> sort_artifacts(const CheckOptions& options, Verdict verdict,
                                                  const std::string& suffix, std::time_t now);

}  // namespace vernier
