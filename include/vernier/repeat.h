// The jobs behind `vernier debug repeat` and `debug build`: the same check again and again, for failures that come and
// go.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>

#include "vernier/check.h"
#include "vernier/export.h"
#include "vernier/onnx_model.h"
#include "vernier/sinks.h"

namespace vernier {

struct Until {
  enum class Stop { Good, Bad, Count } stop = Stop::Count;
  std::size_t count = 1;  // Stop::Count
};

struct RepeatOptions {
  CheckOptions check;
  Until until;
  std::string command;  // "debug repeat"
  OnnxModel model;      // for the replay; empty: none
  /// Makes what is checked; empty: the check judges what is there.
  std::function<void(const std::filesystem::path&)> write;
};

struct RepeatReport {
  std::size_t iterations = 0, good = 0, bad = 0, undecided = 0;
  bool ended = true;  // what it waited for came
  std::string summary;
};

/// Errors: Backend when the check cannot be started; those of options.write in the first iteration (a later one that
/// fails has no verdict); Interrupted; Input.
VERNIER_API RepeatReport debug_repeat(const RepeatOptions& options, const JobSinks& sinks,
                                      const CheckSinks& check_sinks);

}  // namespace vernier
