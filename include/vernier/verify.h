// Is a typed model right, layer by layer?
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "vernier/engine.h"
#include "vernier/export.h"
#include "vernier/measure.h"
#include "vernier/report/verify.h"
#include "vernier/search_options.h"
#include "vernier/sinks.h"

namespace vernier {

struct VerifyOptions {
  std::filesystem::path float_model;
  std::filesystem::path typed_model;
  MeasureOptions measure;
  TaskRequirement task;         // beside the figures: what decides, in the place of a requirement
  std::optional<MeasureOn> on;  // also run there: its figures are beside the simulated ones, and decide
  EngineRunOptions engine;      // of `on`
  std::string command;
};

/// Reloads a typed file (ours or anyone's), simulates what the file says, and measures it layer by layer.
VERNIER_API VerifyReport verify(const VerifyOptions& options, const JobSinks& sinks = {});

}  // namespace vernier
