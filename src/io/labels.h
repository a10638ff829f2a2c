// Labels from files: whole numbers, by sample.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "vernier/labels.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {

/// A .npy of whole numbers, flat, or text with one a line; or whole numbers in memory. Errors: Input, naming the line.
std::vector<std::int64_t> read_labels(const Labels& labels);

/// The same with their shape, of no text. Errors: Input.
struct LabelArray {
  Shape shape;
  std::vector<std::int64_t> values;
};
LabelArray read_label_array(const Labels& labels);

/// How many samples run, and how many there are without --samples: as many where that is not known, since a script is
/// ended at the limit.
struct SampleCount {
  // NOLINTNEXTLINE(google-explicit-constructor): a number of samples that all run
  SampleCount(std::size_t all) : used(all), whole(all) {}
  SampleCount(std::size_t run, std::size_t there_are) : used(run), whole(there_are) {}
  std::size_t used, whole;
};

/// Of the samples that `source` gives to a network with these inputs, `run` of which are used.
SampleCount count_samples(const SourceOptions& source, const std::vector<InputInfo>& inputs, std::size_t run);

/// Labels stand for the samples that run, or for all that there are: the first ones are meant then. Errors: Input for
/// any other number, with the numbers.
void require_labels_for(const std::string& name, std::size_t labels, const SampleCount& samples);

}  // namespace vernier
