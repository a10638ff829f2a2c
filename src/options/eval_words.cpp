#include <array>
#include <span>
#include <string_view>

#include "vernier/eval.h"

namespace vernier {

std::span<const std::string_view> words_of(BoxForm /*which*/) {
  static constexpr std::array<std::string_view, 3> kWords{"yolox", "plain", "rows"};
  return kWords;
}

std::span<const std::string_view> words_of(BoxUnits /*which*/) {
  static constexpr std::array<std::string_view, 3> kWords{"input", "unit", "image"};
  return kWords;
}

std::span<const std::string_view> words_of(ImageFit /*which*/) {
  static constexpr std::array<std::string_view, 3> kWords{"letterbox", "letterbox-center", "stretch"};
  return kWords;
}

}  // namespace vernier
