// What a job writes, looked at before it starts: nothing that it reads may be replaced, and minutes of work must not
// end at a folder that cannot be made.
#pragma once

#include <filesystem>
#include <vector>

#include "base/descriptor.h"
#include "vernier/measure.h"
#include "vernier/sinks.h"

namespace vernier {

/// Refuses to replace what a job reads. Errors: Usage when `output` is one of `inputs`, under whatever name.
void refuse_to_overwrite(const std::filesystem::path& output, const std::vector<std::filesystem::path>& inputs);

/// Says of files that are named like pickles that they are written as JSON all the same.
void warn_of_pickles(const std::vector<std::filesystem::path>& outputs, const JobSinks& sinks);

/// The files that the samples come from, scripts among them.
std::vector<std::filesystem::path> source_files(const MeasureOptions& options);

/// The folder that a job writes into, for as long as this lives: another job that wants to write there is refused, so
/// that the files of two never mix. Nothing is left of the lock when the process ends, however that happens.
class OutputFolder {
 public:
  /// Makes it and those around it; an empty path makes nothing. Only the first of several ranks locks it.
  /// Errors: Input, with the system's reason; Usage when another job holds it, and for what is named like a model.
  explicit OutputFolder(const std::filesystem::path& folder);
  /// A folder that was made here, and in which nothing was written, does not stay.
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

 private:
  std::filesystem::path made_;
  Descriptor lock_;
};

}  // namespace vernier
