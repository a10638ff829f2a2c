#include "numerics/rounded_error.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "numerics/metrics_simd.h"
#include "vernier/error.h"

namespace vernier {

void accumulate_error_of_rounded(std::span<const float> ref, std::span<const float> got, const QuantParams& params,
                                 ErrorStats& errors, RoundEvents* events) {
  if (ref.size() != got.size()) throw Error(ErrorKind::Internal, "compared tensors of different sizes");
  // Whole blocks of accumulate_error(), which sums them one after the other either way; few enough to stay in the
  // cache.
  constexpr std::size_t kTogether = 4 * kErrorBlock;
  std::array<float, kTogether> room;
  for (std::size_t first = 0; first < got.size(); first += kTogether) {
    const std::size_t count = std::min(kTogether, got.size() - first);
    const std::span<float> rounded(room.data(), count);
    if (events != nullptr) {
      round_to_counting(params, 1, static_cast<std::int64_t>(count), got.subspan(first, count), rounded, *events);
    } else {
      round_to(params, 1, static_cast<std::int64_t>(count), got.subspan(first, count), rounded);
    }
    accumulate_error(ref.subspan(first, count), rounded, errors);
  }
}

}  // namespace vernier
