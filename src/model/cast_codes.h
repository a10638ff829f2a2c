// Quantized values that a model holds without any operator of quantization: Casts write and read them.
#pragma once

#include <set>
#include <string>

#include "model/model.h"

namespace vernier {

/// Whether a Cast decodes a weight (a constant in 8 bits or fewer that a product reads, scaled perhaps), or rounds an
/// activation: to FP8, FP4 or INT4, or behind a Round to 8 bits and back. Images and masks in 8 bits are no weights.
bool casts_quantized_values(const Model& model);

/// What Casts make that decode such a weight.
std::set<std::string> decoded_weights(const Model& model);

}  // namespace vernier
