// What a typed model or a plan makes of a network: layers, work and weights by format, what was left out and why, and
// the Q/DQ pairs and casts that it took. Behind `vernier inspect model --show formats` and `vernier inspect plan`.
#pragma once

#include <filesystem>

#include "vernier/export.h"
#include "vernier/onnx_model.h"
#include "vernier/report/scheme.h"

namespace vernier {

VERNIER_API SchemeReport inspect_formats(const OnnxModel& model, const std::filesystem::path& external_data_dir = {});
/// `model` empty: what the plan says alone. Errors: Input when the plan belongs to another model.
VERNIER_API SchemeReport inspect_plan(const std::filesystem::path& plan, const OnnxModel& model);

}  // namespace vernier
