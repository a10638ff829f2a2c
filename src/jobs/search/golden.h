// A trusted run from a file in the place of the float model's outputs.
#pragma once

#include <filesystem>

#include "analysis/reference.h"
#include "analysis/subject.h"

namespace vernier {

/// The judged outputs of the last run saved at `path`, one iteration a sample; only `outputs`, `totals` and
/// `data_sha256`, of their bytes, are filled.
/// Errors: Input when an output is missing, when numbers of iterations or shapes differ, or for values that are no
/// float32.
Reference golden_reference(const Subject& subject, const Reference& float_model, const std::filesystem::path& path);

}  // namespace vernier
