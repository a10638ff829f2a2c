// Engines that run in a process of their own, in the user's Python.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "vernier/export.h"
#include "vernier/tensor.h"
#include "vernier/words.h"

namespace vernier {

/// Which engine is asked. "any": the first of the others that is there and can do what is wanted; "tensorrt",
/// "tensorrt-rtx".
enum class EngineChoice { Any, TensorRt, TensorRtRtx };
VERNIER_API std::span<const std::string_view> words_of(EngineChoice which);

struct CompileOptions {
  EngineChoice engine = EngineChoice::Any;
  std::string compute_capability;       // "8.9"; empty: of the GPU that is here, else 8.9 where it compiles for that
  std::map<std::string, Shape> shapes;  // of inputs; open dimensions of others are 1
  std::string python = "python3";       // that has the engine's packages
  double seconds = 600;                 // that each answer of the engine may take
};

}  // namespace vernier
