// A sample of another batch than the data have.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "model/model.h"
#include "vernier/samples.h"

namespace vernier {

/// Refuses a batch for a model none of whose inputs leaves its first dimension open. `file`: for the message.
/// Errors: Usage.
void require_open_batch(const Model& model, std::int64_t batch, const std::string& file);

/// The first sample of `samples`, where inputs of `model` that leave their first dimension open have `batch` rows:
/// those of this sample and the next ones, again and again. Errors: Input where rows of two samples are not of one
/// shape.
Sample batched_sample(const Model& model, const SampleSource& samples, std::int64_t batch);

/// How many samples one inference on `sample` does: the first dimension that all inputs share, and the outputs where
/// they fix it; else 1.
std::int64_t batch_of(const Model& model, const Sample& sample);

/// `sample` alone, as a source.
std::unique_ptr<SampleSource> source_of(Sample sample);

}  // namespace vernier
