#include "vernier/search_options.h"

#include <array>

namespace vernier {

std::span<const std::string_view> words_of(SearchMode /*which*/) {
  static constexpr std::array<std::string_view, 4> kWords{"minimal", "bisect", "linear", "worst-first"};
  return kWords;
}

std::span<const std::string_view> words_of(SearchDirection /*which*/) {
  static constexpr std::array<std::string_view, 2> kWords{"forward", "reverse"};
  return kWords;
}

std::span<const std::string_view> words_of(CostUnit /*which*/) {
  static constexpr std::array<std::string_view, 4> kWords{"layers", "macs", "bytes", "time"};
  return kWords;
}

}  // namespace vernier
