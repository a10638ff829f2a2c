// The number formats a layer can run in, and their names on the command line and in files.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "vernier/export.h"
#include "vernier/words.h"

namespace vernier {

enum class Format {
  Float32,
  Float16,
  BFloat16,
  Float8E4M3FN,
  Float8E5M2,
  Int8,
  UInt8,
  Int4,
  UInt4,
  Int16,
  UInt16,
  NvFp4,        // E2M1 in blocks of 16 with E4M3 scales, and one float32 scale for the tensor
  MxFp8,        // E4M3 in blocks of 32 with power-of-two scales (E8M0)
  MxFp8E5M2,    // the same of E5M2
  MxFp4,        // the same of E2M1
  DynamicInt8,  // activations in uint8 with the scale of the values of each run, weights in int8
};

/// The canonical name: float32 float16 bfloat16 float8e4m3fn float8e5m2 int8 uint8 int4 uint4 int16 uint16 nvfp4 mxfp8
/// mxfp8e5m2 mxfp4 dynamic-int8.
VERNIER_API std::string_view format_name(Format format);
/// As sentences write it: FP32 FP16 BF16 FP8 "FP8 (E5M2)" INT8 UINT8 INT4 UINT4 INT16 UINT16 NVFP4 MXFP8 "MXFP8 (E5M2)"
/// MXFP4 "dynamic INT8".
VERNIER_API std::string_view format_title(Format format);
VERNIER_API std::span<const std::string_view> words_of(Format which);

/// Reads a canonical name or a short form (fp32 fp16 bf16 fp8 half float); nullopt when it is none.
VERNIER_API std::optional<Format> parse_format(std::string_view name);

/// True for formats a tensor reaches through a scale (QuantizeLinear / DequantizeLinear): all but float32, float16 and
/// bfloat16.
VERNIER_API bool needs_scale(Format format);

/// Bits one element takes.
VERNIER_API int bits_of(Format format);

}  // namespace vernier
