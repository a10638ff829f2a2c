// The beginning that all jobs share: read, prepare, open the samples, and decide what is judged.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "analysis/subject.h"
#include "jobs/common/sources.h"
#include "model/prepare.h"
#include "vernier/format.h"
#include "vernier/measure.h"
#include "vernier/samples.h"
#include "vernier/sinks.h"

namespace vernier {

struct Loaded {
  Model original;
  std::shared_ptr<const SampleSource> samples;
  std::shared_ptr<const SampleSource> calibration;  // null: the ranges are learned on `samples`
  Subject subject;                                  // its samples point to the ones here
  bool inlined_ifs = false;
  std::vector<std::string> warnings;
  std::vector<std::string> notes;
};

/// Reads and prepares `path` for the formats given, and opens the samples.
/// What is judged may be nothing: outputs of a run may all be integers.
/// Errors: whatever reading, preparing or opening refuses.
Loaded load(const std::filesystem::path& path, const std::set<Format>& formats, Sources& sources, int min_opset = 0);

/// The same, with sources of its own, to be judged. Errors: Input when no output is float.
Loaded load(const std::filesystem::path& path, const std::set<Format>& formats, const MeasureOptions& options,
            const JobSinks& sinks, int min_opset = 0);

/// Shows inline_ifs every sample that will be run, calibration included. `loaded` must outlive the options.
void show_samples(const Loaded& loaded, PrepareOptions& options);

/// Turns a job's sinks into the progress of a subject: throws Error{Interrupted} when the user asked to stop.
Progress progress_of(const JobSinks& sinks);

}  // namespace vernier
