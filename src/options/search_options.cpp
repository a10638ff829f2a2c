#include "vernier/search_options.h"

#include <array>

namespace vernier {

std::string_view search_mode_name(SearchMode mode) {
  constexpr std::array<std::string_view, 4> kNames{"minimal", "bisect", "linear", "worst-first"};
  return kNames.at(static_cast<std::size_t>(mode));
}

std::string_view cost_unit_name(CostUnit unit) {
  constexpr std::array<std::string_view, 4> kNames{"layers", "macs", "bytes", "time"};
  return kNames.at(static_cast<std::size_t>(unit));
}

}  // namespace vernier
