// What a job says of a file before it measures anything: nodes that no engine reads.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "model/model.h"
#include "vernier/report/defects.h"
#include "vernier/sinks.h"

namespace vernier {

/// What ONNX's checker says against the nodes of `model` if ONNX Runtime does not load it either. A file without
/// kernels there, as one in bfloat16, is no fault of the file. Of more weights than kLargeWeights nothing is checked.
/// Errors: Interrupted.
std::vector<FoundDefect> invalid_nodes(const std::shared_ptr<const Model>& model,
                                       const std::vector<std::filesystem::path>& custom_operators,
                                       const JobSinks& sinks);

/// A name that several nodes of one graph have in the file that was read. ONNX Runtime refuses it (1.31.1), others do
/// not; `refused`: it is for ONNX Runtime.
std::vector<FoundDefect> repeated_name_defects(const Model& file, bool refused);

}  // namespace vernier
