// Typed files of any tool, so that what they say in their pairs can be looked up.
#pragma once

#include <filesystem>

#include "model/model.h"

namespace vernier {

/// `file`, as read_model() gives it. Where scales or zero points are computed from constants, as trainers export the
/// exponent of a learned logarithm, everything that is constant is folded, quantizers and dequantizers excepted.
Model as_typed_file(const Model& file);

/// The same of what is in `path` now. Errors: as read_model().
Model read_typed_file(const std::filesystem::path& path);

}  // namespace vernier
