#include "comparator/pair.h"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "base/text.h"

namespace vernier {
namespace {

/// accumulate_error for float64. Blocks of fixed size, summed in order.
void accumulate(std::span<const double> ref, std::span<const double> got, ErrorStats& stats) {
  ErrorStats block;
  block.count = static_cast<std::int64_t>(ref.size());
  for (std::size_t i = 0; i < ref.size(); ++i) {
    if (!std::isfinite(ref[i])) {
      ++block.ref_nonfinite;
    } else if (std::isnan(got[i])) {
      ++block.got_nan;
    } else if (std::isinf(got[i])) {
      ++block.got_inf;
    } else {
      const double error = got[i] - ref[i];
      block.ref_energy += ref[i] * ref[i];
      block.got_energy += got[i] * got[i];
      block.dot += ref[i] * got[i];
      block.error_energy += error * error;
      block.error_sum += error;
      block.max_abs_error = std::max(block.max_abs_error, std::abs(error));
      block.max_abs_ref = std::max(block.max_abs_ref, std::abs(ref[i]));
    }
  }
  stats += block;
}

}  // namespace

bool Pair::in_float32() const {
  const auto held = [](Dtype dtype) { return fits_float32(dtype) || dtype == Dtype::Bool; };
  return held(got_.dtype()) && held(ref_.dtype()) && (is_float(got_.dtype()) || is_float(ref_.dtype()));
}

bool Pair::in_integers() const { return !is_float(got_.dtype()) && !is_float(ref_.dtype()); }

const ErrorStats& Pair::sums() {
  if (sums_) return *sums_;
  sums_.emplace();
  if (in_float32()) {
    for_blocks<float>([&](std::span<const float> got, std::span<const float> ref, std::int64_t) {
      ErrorStats block;
      accumulate_error(ref, got, block);
      *sums_ += block;
    });
  } else {
    for_blocks<double>(
        [&](std::span<const double> got, std::span<const double> ref, std::int64_t) { accumulate(ref, got, *sums_); });
  }
  return *sums_;
}

double Pair::largest_got() const {
  double largest = -std::numeric_limits<double>::infinity();
  std::vector<double> room;
  for (std::int64_t first = 0; first < count(); first += kBlock) {
    const auto n = static_cast<std::size_t>(std::min(kBlock, count() - first));
    for (const double value : read_block(got_, first, n, room)) {
      if (std::isfinite(value)) largest = std::max(largest, value);
    }
  }
  return std::isinf(largest) ? std::numeric_limits<double>::quiet_NaN() : largest;
}

std::string Pair::not_finite_text() {
  const std::int64_t many = not_finite();
  if (many == 0) return {};
  std::int64_t at = -1;
  for_blocks<double>([&](std::span<const double> got, std::span<const double> ref, std::int64_t first) {
    for (std::size_t i = 0; i < got.size() && at < 0; ++i) {
      if (!std::isfinite(got[i]) || !std::isfinite(ref[i])) at = first + static_cast<std::int64_t>(i);
    }
  });
  return fmt::format("{} of {} values {} not finite, the first at {}: {}", many, count(), many == 1 ? "is" : "are",
                     place_text(at, shape()), values_at(*this, at));
}

std::string values_at(const Pair& pair, std::int64_t at) {
  const auto text = [at](const Tensor& tensor) {
    if (is_float(tensor.dtype())) {
      std::vector<double> room;
      return fmt::format("{:.9g}", read_block(tensor, at, 1, room)[0]);
    }
    std::vector<std::int64_t> room;
    const std::int64_t value = read_block(tensor, at, 1, room)[0];
    if (tensor.dtype() == Dtype::UInt64) return fmt::format("{}", static_cast<std::uint64_t>(value));
    return fmt::format("{}", value);
  };
  return fmt::format("{} against {}", text(pair.got()), text(pair.ref()));
}

}  // namespace vernier
