// Cutting a part out of a model that a job has read already. The public extract_model() reads it.
#pragma once

#include "jobs/common/missing_weights.h"
#include "model/model.h"
#include "vernier/sinks.h"
#include "vernier/surgeon.h"

namespace vernier {

/// As extract_model(), of `model` in the place of options.model.
/// `missing`: inputs of `model` that stand for weights without values.
SurgeonResult extract_part(const Model& model, const ExtractOptions& options, const JobSinks& sinks,
                           const MissingWeights& missing = {});

}  // namespace vernier
