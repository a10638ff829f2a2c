#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/text.h"
#include "comparator/functions.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

double divergence(std::span<const double> ref, std::span<const double> got) {
  double ref_sum = 0;
  double got_sum = 0;
  const auto both_finite = [&](std::size_t i) { return std::isfinite(ref[i]) && std::isfinite(got[i]); };
  for (std::size_t i = 0; i < ref.size(); ++i) {
    if (!both_finite(i)) continue;
    ref_sum += ref[i];
    got_sum += got[i];
  }
  if (ref_sum == 0 && got_sum == 0) return 0;
  if (ref_sum == 0 || got_sum == 0) return kUnbounded;
  double sum = 0;
  for (std::size_t i = 0; i < ref.size(); ++i) {
    if (!both_finite(i) || ref[i] == 0) continue;
    if (got[i] == 0) return kUnbounded;
    sum += ref[i] / ref_sum * std::log(ref[i] / ref_sum / (got[i] / got_sum));
  }
  return std::max(sum, 0.0);  // rounding can leave less
}

}  // namespace

Figure kl_divergence(Pair& pair) {
  Figure figure;
  const Shape& shape = pair.shape();
  const std::int64_t length = shape.empty() ? 1 : shape.back();
  std::vector<double> got_room;
  std::vector<double> ref_room;
  for (std::int64_t first = 0; first < pair.count(); first += length) {
    const auto n = static_cast<std::size_t>(length);
    const std::span<const double> got = read_block(pair.got(), first, n, got_room);
    const std::span<const double> ref = read_block(pair.ref(), first, n, ref_room);
    for (std::size_t i = 0; i < n; ++i) {
      if (got[i] >= 0 && ref[i] >= 0) continue;
      if (std::isnan(got[i]) || std::isnan(ref[i])) continue;
      const std::int64_t at = first + static_cast<std::int64_t>(i);
      figure.problem = fmt::format("values at {} are {}: not a distribution, because some are below 0",
                                   place_text(at, shape), values_at(pair, at));
      return figure;
    }
    figure.value = std::max(figure.value, divergence(ref, got));
  }
  return figure;
}

}  // namespace vernier
