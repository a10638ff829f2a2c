#include "base/counts.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>

namespace vernier {

ScaledCount scaled_count(std::int64_t count) {
  constexpr std::array<const char*, 6> kUnits{"k", "M", "G", "T", "P", "E"};
  double value = static_cast<double>(count) / 1000;
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  return {value, kUnits[unit]};
}

std::string count_text(std::int64_t count) {
  if (count < 1000) return std::to_string(count);
  if (count < 100'000) return fmt::format("{},{:03}", count / 1000, count % 1000);
  const auto [value, unit] = scaled_count(count);
  return fmt::format("{:.{}f} {}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0, unit);
}

}  // namespace vernier
