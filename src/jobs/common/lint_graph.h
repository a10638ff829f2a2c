// What is wrong with a model by its header and the names in its graph alone.
#pragma once

#include "jobs/common/lint_log.h"
#include "model/model.h"

namespace vernier {

/// Header; names that are made twice, read and not made, or not used; in bodies too.
void lint_graph(const onnx::ModelProto& model, LintLog& log);

}  // namespace vernier
