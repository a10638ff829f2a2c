// NumPy's .npy arrays, versions 1 to 3: what numpy.save writes for numbers. Little-endian only; object
// arrays (pickles), structured types and strings are refused. Fortran order is read where an array is read whole.
// Source: numpy.lib.format, "Format Version 1.0" to "3.0".
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "vernier/tensor.h"

namespace vernier {

struct NpyHeader {
  Dtype dtype = Dtype::Undefined;
  Shape shape;
  std::size_t data_offset = 0;  // from the start of the file
  std::size_t data_bytes = 0;
  bool fortran_order = false;  // and more than one dimension
};

/// The element type that numpy writes as "<f4", "|b1", ...
/// Errors: Input, as below. `where` starts the message.
Dtype npy_dtype(std::string_view descr, const std::string& where);

/// Bytes that npy_header_size() looks at.
inline constexpr std::size_t kNpyPreamble = 12;

/// Size of the whole header (preamble and dictionary) of the array that starts with `start`.
/// Errors: Input when it is no .npy, is cut short, or its header is over 64 KiB. `where` starts the message.
std::size_t npy_header_size(std::span<const std::byte> start, const std::string& where);

/// Reads the header; `start` must hold npy_header_size() bytes at least, and may hold the data too. Whether the data
/// is all there is the caller's to check: data_offset + data_bytes.
/// Errors: Input, naming what is not supported and the numpy call that fixes it.
NpyHeader parse_npy_header(std::span<const std::byte> start, const std::string& where);

/// The header of `file`, which must be exactly one .npy.
/// Errors: Input, as above, and when the file's size is not what its header says.
NpyHeader parse_whole_npy(std::span<const std::byte> file, const std::string& where);

/// The header that numpy.save (NumPy 2) writes for such an array: version 1.0, a multiple of 64 bytes.
/// nullopt for types that NumPy does not have: bfloat16, float8, 4 bits.
std::optional<std::string> npy_header(Dtype dtype, const Shape& shape);

/// The array in `file`. The tensor shares `owner` where the data is aligned to its elements; an array in Fortran order
/// is copied into C order. Errors: as parse_whole_npy, but for that.
Tensor read_npy(std::span<const std::byte> file, const std::shared_ptr<const void>& owner, const std::string& where);

}  // namespace vernier
