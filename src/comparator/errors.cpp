#include "comparator/errors.h"

#include <cmath>

namespace vernier::detail {
namespace {

// The peer's. 2^-52, so that it is the same number in float32.
constexpr double kEpsilon = 2.220446049250313e-16;

double distance(std::int64_t got, bool got_unsigned, std::int64_t ref, bool ref_unsigned) {
  const auto a = static_cast<std::uint64_t>(got);
  const auto b = static_cast<std::uint64_t>(ref);
  if (got_unsigned && !ref_unsigned && ref < 0)
    return static_cast<double>(a) + static_cast<double>(std::uint64_t{0} - b);
  if (ref_unsigned && !got_unsigned && got < 0)
    return static_cast<double>(b) + static_cast<double>(std::uint64_t{0} - a);
  const bool larger = got_unsigned || ref_unsigned ? a > b : got > ref;
  return static_cast<double>(larger ? a - b : b - a);
}

double magnitude(std::int64_t value, bool is_unsigned) {
  if (is_unsigned) return static_cast<double>(static_cast<std::uint64_t>(value));
  return std::abs(static_cast<double>(value));
}

}  // namespace

template <class T>
void float_errors(std::span<const T> got, std::span<const T> ref, bool ref_is_float, bool infinities_compare_equal,
                  ErrorBlock<T>& block) {
  const std::size_t n = got.size();
  block.absolute.resize(n);
  block.relative.resize(n);
  T* const absolute = block.absolute.data();
  T* const relative = block.relative.data();
  const T* const a = got.data();
  const T* const b = ref.data();
  for (std::size_t i = 0; i < n; ++i) absolute[i] = std::abs(a[i] - b[i]);
  if (infinities_compare_equal) {
    for (std::size_t i = 0; i < n; ++i) {
      if (std::isinf(a[i]) && a[i] == b[i]) absolute[i] = 0;
    }
  }
  std::uint32_t zeros = 0;
  for (std::size_t i = 0; i < n; ++i) zeros += b[i] == 0 ? 1U : 0U;
  block.zero_references = zeros;
  const T zero = ref_is_float ? static_cast<T>(kEpsilon) : T{0};
  for (std::size_t i = 0; i < n; ++i) relative[i] = absolute[i] / (b[i] == 0 ? zero : std::abs(b[i]));
}

void integer_errors(std::span<const std::int64_t> got, bool got_unsigned, std::span<const std::int64_t> ref,
                    bool ref_unsigned, ErrorBlock<double>& block) {
  block.absolute.resize(got.size());
  block.relative.resize(got.size());
  block.zero_references = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    block.absolute[i] = distance(got[i], got_unsigned, ref[i], ref_unsigned);
    block.relative[i] = block.absolute[i] / magnitude(ref[i], ref_unsigned);
  }
}

template void float_errors(std::span<const float>, std::span<const float>, bool, bool, ErrorBlock<float>&);
template void float_errors(std::span<const double>, std::span<const double>, bool, bool, ErrorBlock<double>&);

}  // namespace vernier::detail
