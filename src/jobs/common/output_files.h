// What a job writes, looked at before it starts: nothing that it reads may be replaced, and minutes of work must not
// end at a folder that cannot be made.
#pragma once

#include <filesystem>
#include <vector>

#include "vernier/measure.h"

namespace vernier {

/// Refuses to replace what a job reads. Errors: Usage when `output` is one of `inputs`, under whatever name.
void refuse_to_overwrite(const std::filesystem::path& output, const std::vector<std::filesystem::path>& inputs);

/// The files that the samples come from, scripts among them.
std::vector<std::filesystem::path> source_files(const MeasureOptions& options);

/// Makes the folder and those around it. An empty path makes nothing. Errors: Input, with the system's reason.
void make_output_folder(const std::filesystem::path& folder);

}  // namespace vernier
