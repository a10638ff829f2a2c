// What a model holds, counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "model/model.h"

namespace vernier {

/// QuantizeLinear and DynamicQuantizeLinear nodes, those of bodies included.
std::size_t count_quantizers(const Model& model);

/// Whether values stand as quantized ones somewhere: it dequantizes them, or computes on them. A QuantizeLinear alone,
/// whose output the model gives out, is no such thing.
bool holds_quantized_values(const Model& model);

/// Bytes of all initializers and Constant nodes, those of bodies included.
std::int64_t weight_bytes(const Model& model);

/// SHA-256 of the graph and of all weights, wherever they are stored: equal for models that compute the same by the
/// same nodes. Cost: one pass over the weights.
std::string content_sha256(const Model& model);

}  // namespace vernier
