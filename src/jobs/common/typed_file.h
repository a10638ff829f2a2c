// Typed files of any tool, so that what they say in their pairs can be looked up.
#pragma once

#include <filesystem>

#include "model/model.h"
#include "vernier/onnx_model.h"

namespace vernier {

/// `file`, as read_model() gives it. Where scales or zero points are computed from constants, as trainers export the
/// exponent of a learned logarithm, everything that is constant is folded, quantizers and dequantizers excepted.
Model as_typed_file(const Model& file);

/// The same of what is in `source` now. Errors: as read_model().
Model read_typed_file(const OnnxModel& source);

/// A model that a job made, as its result: the file that it was written to, or without one itself.
OnnxModel result_of(Model model, const std::filesystem::path& file);

}  // namespace vernier
