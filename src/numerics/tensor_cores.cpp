#include "numerics/tensor_cores.h"

#include <fmt/format.h>

#include <cstddef>

#include "numerics/one_value.h"
#include "numerics/tensor_cores_simd.h"
#include "vernier/error.h"

namespace vernier {
namespace {

constexpr std::int64_t kTellingChannel = 16;

}  // namespace

std::size_t values_of_one_noise(std::int64_t channels, std::int64_t inner) {
  return static_cast<std::size_t>(inner < kTellingChannel ? channels * inner : inner);
}

void add_sum_noise(std::int64_t channels, std::int64_t inner, std::int64_t roundings, std::uint32_t seed,
                   std::span<const float> values, std::span<float> out) {
  const std::size_t n = values.size();
  if (out.size() != n || roundings < 1 || channels < 0 || inner < 0) {
    throw Error(ErrorKind::Internal,
                fmt::format("noise of {} roundings, of {} values into space for {}", roundings, n, out.size()));
  }
  if (n == 0) return;
  const auto row = static_cast<std::size_t>(inner);
  const std::size_t sample = row * static_cast<std::size_t>(channels);
  if (sample == 0 || n % sample != 0) {
    throw Error(ErrorKind::Internal, fmt::format("{} values are not [n, {}, {}]", n, channels, inner));
  }
  const std::size_t run = values_of_one_noise(channels, inner);
  for (std::size_t first = 0; first < n; first += run) {
    const double squared_powers = sum_squared_powers(values.data() + first, run);
    add_hashed_noise(values.data() + first, out.data() + first, run, seed, static_cast<std::uint32_t>(first),
                     noise_amplitude(squared_powers, static_cast<double>(run), static_cast<double>(roundings)));
  }
}

void round_to_tf32(std::span<const float> values, std::span<float> out) {
  if (values.size() != out.size()) {
    throw Error(ErrorKind::Internal, fmt::format("{} values to round into space for {}", values.size(), out.size()));
  }
  round_row_to_tf32(values.data(), out.data(), values.size());
}

}  // namespace vernier
