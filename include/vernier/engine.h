// Engines that run in a process of their own, in the user's Python.
#pragma once

#include <span>
#include <string_view>

#include "vernier/export.h"
#include "vernier/words.h"

namespace vernier {

/// Which engine is asked. "any": the first of the others that is there and can do what is wanted; "tensorrt",
/// "tensorrt-rtx".
enum class EngineChoice { Any, TensorRt, TensorRtRtx };
VERNIER_API std::span<const std::string_view> words_of(EngineChoice which);

}  // namespace vernier
