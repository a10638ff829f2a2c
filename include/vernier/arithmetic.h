// How an engine computes within a layer, where its files do not say it.
#pragma once

#include <span>
#include <string_view>

#include "vernier/export.h"
#include "vernier/words.h"

namespace vernier {

/// What float16 convolutions keep their sums in. "float32", "float16".
enum class Accumulate { Float32, Float16 };
VERNIER_API std::span<const std::string_view> words_of(Accumulate which);

/// Measured with TensorRT-RTX (docs/records/within-a-layer.md); the default is what every other simulation assumes.
struct Arithmetic {
  /// Float16: convolutions in float16 round their sum every 16 products, and in float16 and bfloat16 before the bias is
  /// added, too; the result of a MatMul that is read as float32 is not rounded.
  Accumulate accumulate = Accumulate::Float32;
  /// Conv, ConvTranspose, Gemm and MatMul in float32 read ten bits of mantissa.
  bool tf32 = false;
  bool operator==(const Arithmetic&) const = default;
};

/// All of what was measured.
inline constexpr Arithmetic kMeasuredArithmetic{Accumulate::Float16, /*tf32=*/true};

/// The other end of what an engine may do: all of what was measured, or nothing of it.
constexpr Arithmetic other_arithmetic(const Arithmetic& one) {
  return one.accumulate == Accumulate::Float32 ? kMeasuredArithmetic : Arithmetic{};
}

}  // namespace vernier
