// What tensor_cores.cpp asks of the SIMD code, run on the best instruction set of this machine.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vernier {

/// Sum of the squares of the power of two in each |x|, between the smallest normal and the largest float16.
double sum_squared_powers(const float* values, std::size_t n);

/// out[i] = values[i] + amplitude * (a - b), where a and b are the halves of a hash of seed and first + i.
void add_hashed_noise(const float* values, float* out, std::size_t n, std::uint32_t seed, std::uint32_t first,
                      float amplitude);

void round_row_to_tf32(const float* values, float* out, std::size_t n);

}  // namespace vernier
