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
#include "vernier/report/figures.h"
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

/// The engine's evaluator, for prepare().
Evaluator evaluator(const std::shared_ptr<const Runtime>& runtime);

/// Runs the original file and the prepared model on the first sample, optimizations off, and says how they differ.
RunFigures prove_prepared(const Loaded& loaded);

/// Turns a job's sinks into the progress of a subject: throws Error{Interrupted} when the user asked to stop.
Progress progress_of(const JobSinks& sinks);

/// QuantizeLinear and DynamicQuantizeLinear nodes, those of bodies included.
std::size_t count_quantizers(const Model& model);

/// Bytes of all initializers and Constant nodes, those of bodies included.
std::int64_t weight_bytes(const Model& model);

/// Refuses to replace what a job reads. Errors: Usage when `output` is one of `inputs`, under whatever name.
void refuse_to_overwrite(const std::filesystem::path& output, const std::vector<std::filesystem::path>& inputs);

/// The files that the samples come from, scripts among them.
std::vector<std::filesystem::path> source_files(const MeasureOptions& options);

/// CPU model and usable cores, for the record.
std::string machine_text();

}  // namespace vernier
