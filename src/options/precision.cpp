#include "vernier/precision.h"

#include <array>

namespace vernier {

std::span<const std::string_view> words_of(Target /*which*/) {
  static constexpr std::array<std::string_view, 3> kWords{"tensorrt", "onnxruntime", "openvino"};
  return kWords;
}

std::span<const std::string_view> words_of(PrecisionConstraints /*which*/) {
  static constexpr std::array<std::string_view, 3> kWords{"obey", "prefer", "none"};
  return kWords;
}

}  // namespace vernier
