#include <array>
#include <span>
#include <string_view>

#include "vernier/graph_optimization.h"
#include "vernier/samples.h"

namespace vernier {

std::span<const std::string_view> words_of(GraphOptimization /*which*/) {
  static constexpr std::array<std::string_view, 4> kWords{"ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED",
                                                          "ORT_ENABLE_ALL"};
  return kWords;
}

std::span<const std::string_view> words_of(ImageColor /*which*/) {
  static constexpr std::array<std::string_view, 3> kWords{"rgb", "bgr", "y"};
  return kWords;
}

std::span<const std::string_view> words_of(ImageLayout /*which*/) {
  static constexpr std::array<std::string_view, 2> kWords{"nchw", "nhwc"};
  return kWords;
}

}  // namespace vernier
