#include "io/numpy_random.h"

#include <bit>

namespace vernier {

double NumpyRandom::unit() {
  const std::uint32_t high = word() >> 5;
  const std::uint32_t low = word() >> 6;
  return (high * 67108864.0 + low) / 9007199254740992.0;
}

NumpyRandom::Integers::Integers(NumpyRandom& random, std::uint64_t span, int bits)
    : random_(random), span_(span), mask_(span == 0 ? 0 : ~std::uint64_t{0} >> std::countl_zero(span)), bits_(bits) {}

// Types under 32 bits share one 32-bit draw, lowest bits first.
std::uint32_t NumpyRandom::Integers::next_narrow() {
  if (left_ == 0) {
    buffer_ = random_.word();
    left_ = 32 / bits_;
  } else {
    buffer_ >>= bits_;
  }
  --left_;
  return buffer_;
}

std::uint64_t NumpyRandom::Integers::next() {
  if (span_ == 0) return 0;
  for (;;) {
    std::uint64_t value = 0;
    if (bits_ < 32) {
      value = next_narrow() & mask_;
    } else if (span_ <= 0xFFFFFFFFU) {
      value = random_.word() & mask_;
    } else {
      const std::uint64_t high = random_.word();
      value = (high << 32 | random_.word()) & mask_;
    }
    if (value <= span_) return value;
  }
}

}  // namespace vernier
