// Engines that a network is quantized for. None of them is run: their documented rules are simulated.
#pragma once

#include <span>
#include <string_view>

#include "vernier/export.h"
#include "vernier/words.h"

namespace vernier {

/// Where Q/DQ pairs go, which operators take codes, and whether activations are int8 or uint8. "tensorrt",
/// "onnxruntime", "openvino".
enum class Target { TensorRt, OnnxRuntime, OpenVino };
VERNIER_API std::span<const std::string_view> words_of(Target which);

}  // namespace vernier
