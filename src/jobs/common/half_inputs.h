// Samples in float32 for models whose inputs are FP16 or BF16, as their float models take them.
#pragma once

#include <memory>

#include "model/model.h"
#include "vernier/samples.h"
#include "vernier/sinks.h"

namespace vernier {

/// The samples of `source` for `model`. Those of FP16 and BF16 inputs may also be float32, or what becomes float32:
/// they are rounded to the type of the input. Errors: Input, as samples_for().
std::shared_ptr<const SampleSource> samples_for_halves(const Model& model, const SourceOptions& source,
                                                       const JobSinks& sinks);

}  // namespace vernier
