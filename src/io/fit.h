// Whether arrays are what the inputs of a network want: names, types, shapes, finite values. Messages name the file,
// the input, what was expected and what was found.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {

/// How an array divides into samples along its first axis.
struct Split {
  std::size_t samples = 1;
  Shape sample_shape;
};

/// How an array of shape `array` holds samples of `input`:
///   [N, *input shape]                                    N samples
///   [*input shape]                                       one; with `split_batch` and a dynamic first dimension, N of
///   batch 1 [N, *rest] where the input is a fixed [1, *rest]     N samples of [1, *rest]
/// A dynamic dimension takes any size.
/// Errors: Input when it is none of these, or N is 0.
Split split_samples(const InputInfo& input, const Shape& array, bool split_batch, const std::string& where);

/// Errors: Input when an input that is not in `carried` is missing from `found`, or, without `spare`, `found` has a
/// name that is no input.
void check_names(const std::vector<InputInfo>& inputs, const std::vector<std::string>& carried,
                 const std::vector<std::string>& found, const std::string& where, bool spare = false);

/// Errors: Input when sample `index`, of shape `shape`, is not exactly what the input wants.
void check_shape(const InputInfo& input, const Shape& shape, std::size_t index, const std::string& where);

/// Errors: Input when arrays of type `found` cannot become what the input wants.
void check_type(const InputInfo& input, Dtype found, const std::string& where);

/// `found` as sample `index` of `input`: the very shape, the input's type (convert.h), finite, booleans 0 or 1.
/// Shares the bytes when it can.
/// Errors: Input. Cost: one pass, two when converted.
Tensor fit(const Tensor& found, const InputInfo& input, std::size_t index, const std::string& where);

}  // namespace vernier
