// What each number format is: its name, its values, its ONNX type, and how it is scaled. The one home of these facts:
// rounding, files, reports, help and Python read them here.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier {

/// A binary floating-point format narrower than float32, described by what rounding needs.
struct FloatGrid {
  int mantissa_bits;  // stored bits, without the leading one
  int min_exponent;   // of the smallest normal value, 2^min_exponent
  float max_finite;
  /// Finite values from here on (or strictly beyond, when `tie_stays` is set) round past max_finite.
  float limit;
  bool tie_stays;  // the tie at `limit` goes down to max_finite because that one is even
};

inline constexpr FloatGrid kFloat16{10, -14, 65504.0f, 65520.0f, false};
inline constexpr float kLargestFloat16 = kFloat16.max_finite;
inline constexpr FloatGrid kBFloat16{7, -126, 0x1.FEp127f, 0x1.FFp127f, false};
inline constexpr FloatGrid kFloat8E4M3FN{3, -6, 448.0f, 464.0f, true};
inline constexpr FloatGrid kFloat8E5M2{2, -14, 57344.0f, 61440.0f, false};
inline constexpr FloatGrid kFloat4E2M1{1, 0, 6.0f, 7.0f, false};

/// Smallest and largest code of an integer format; both 0 for others.
struct CodeRange {
  std::int32_t lowest = 0;
  std::int32_t highest = 0;
};

/// What the scales of a format's blocks are.
enum class BlockScale {
  Chosen,  // the format has no blocks of its own
  E4M3,    // with one float32 scale for the tensor in front
  E8M0     // powers of two
};

struct FormatDefinition {
  Format format;
  std::string_view name;
  std::string_view short_name;  // empty: none
  std::string_view title;       // in sentences
  int bits;                     // of one element
  Dtype stored;                 // type of its elements in a file
  int opset;                    // the first that can write it: Cast, or QuantizeLinear with a scale for each channel
  double usual_noise;           // power of its error in units of the signal: Gaussian values in rows of 1,000
  bool scaled = false;
  bool weights_alone = false;  // engines compute with the dequantized weight, in the high format
  const FloatGrid* floats = nullptr;
  CodeRange integers{};
  BlockScale block_scale = BlockScale::Chosen;
  int block = 0;         // neighbours along the dimension that is summed over that share a scale; 0: not fixed
  bool dynamic = false;  // the scales of activations come from the values of each run
};

/// Activations have a scale or range that calibration finds.
inline bool is_calibrated(const FormatDefinition& format) {
  return format.scaled && (!format.dynamic || format.block_scale == BlockScale::E4M3);
}

/// In the order of the enumeration.
std::span<const FormatDefinition> format_definitions();
const FormatDefinition& definition_of(Format format);

}  // namespace vernier
