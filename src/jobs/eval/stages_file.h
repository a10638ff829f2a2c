// The file that names the stages of a pipeline.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "vernier/pipeline.h"

namespace vernier {

/// As read_stages(), of the text of `file`.
std::vector<Stage> stages_from_text(const std::string& text, const std::filesystem::path& file);

}  // namespace vernier
