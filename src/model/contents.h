// What a model holds, counted.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/model.h"

namespace vernier {

/// QuantizeLinear and DynamicQuantizeLinear nodes, those of bodies included.
std::size_t count_quantizers(const Model& model);

/// Bytes of all initializers and Constant nodes, those of bodies included.
std::int64_t weight_bytes(const Model& model);

}  // namespace vernier
