// What a typed model that was written holds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vernier {

struct TypedReport {
  std::string file;
  std::int64_t casts = 0;
  std::int64_t quantize_pairs = 0;
  std::int64_t weight_bytes = 0, original_weight_bytes = 0;
  std::vector<std::string> notes;
};

}  // namespace vernier
