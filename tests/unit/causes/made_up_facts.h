// Facts about layers, made up: a layer that has a cause, one that almost has it, and one with another cause that looks
// alike. tests/planted has them measured.
#pragma once

#include <string>
#include <vector>

#include "causes/causes.h"
#include "vernier/format.h"
#include "vernier/report/causes.h"

namespace vernier::testing {

/// `count` values from -size to size, evenly.
std::vector<float> ramp(float size, int count = 1000);
/// What is known of a tensor with these values.
TensorFacts tensor(const std::string& name, const std::vector<float>& values);
/// The same on an int8 grid that reaches `absmax`.
TensorFacts on_grid(TensorFacts facts, float absmax);
/// A layer that has an error of its own, and nothing else said of it.
LayerFacts layer(const std::string& op_type, Format format);
/// A convolution in int8 that reads `data`.
LayerFacts conv(TensorFacts data);
/// The same of data with one outlier channel of 64, the eighth, which reaches `largest` where the others reach 1.
LayerFacts with_outlier_channel(float largest = 40);
/// A layer in int8 with a weight on a grid that reaches `absmax`.
LayerFacts with_weight(TensorFacts weight, float absmax);
/// Of a network of this layer alone, which has to be better.
std::vector<Cause> causes_of(const LayerFacts& facts);
/// "" when none was found.
std::string first_cause(const LayerFacts& facts);
/// True when the cause is one of those found.
bool names(const LayerFacts& facts, const char* id);

}  // namespace vernier::testing
