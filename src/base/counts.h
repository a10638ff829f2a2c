// How large counts are written in sentences.
#pragma once

#include <cstdint>
#include <string>

namespace vernier {

struct ScaledCount {
  double value;
  const char* unit;
};

/// A count of at least 1000 in the largest unit that leaves at least 1 before the point after rounding: 1.23, "M".
ScaledCount scaled_count(std::int64_t count);

/// "812", "12,345", "1.23 M", "45.6 G": at most seven columns.
std::string count_text(std::int64_t count);

}  // namespace vernier
