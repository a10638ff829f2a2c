#include "io/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/text.h"
#include "io/convert.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

using Dims = std::span<const std::int64_t>;

bool matches(Dims wanted, Dims got) {
  return wanted.size() == got.size() && std::equal(wanted.begin(), wanted.end(), got.begin(),
                                                   [](std::int64_t w, std::int64_t g) { return w < 0 || w == g; });
}

/// The array is an image with the channels of `wanted` at the other end: NHWC for NCHW, or the reverse.
bool axes_swapped(const Shape& wanted, const Shape& got) {
  if (wanted.size() != 4 || got.size() < 3) return false;
  const Dims image = Dims(wanted).subspan(1);
  const Dims last = Dims(got).last(3);
  const Shape to_first{last[2], last[0], last[1]}, to_last{last[1], last[2], last[0]};
  return !matches(image, last) && ((image[0] > 0 && image[0] <= 4 && matches(image, to_first)) ||
                                   (image[2] > 0 && image[2] <= 4 && matches(image, to_last)));
}

std::string reordered_hint(const Shape& wanted, const Shape& got) {
  if (axes_swapped(wanted, got)) {
    const auto text = [](Dims dims) { return shape_text(Shape(dims.begin(), dims.end())); };
    return fmt::format("the axes look swapped: Nx{} for Nx{}; transpose the array", text(Dims(got).last(3)),
                       text(Dims(wanted).last(3)));
  }
  Shape these = wanted, those = got;
  std::sort(these.begin(), these.end());
  std::sort(those.begin(), those.end());
  return these == those ? "the same dimensions in another order: transpose the array" : "";
}

[[noreturn]] void wrong_shape(const InputInfo& input, const Shape& got, const std::string& where, std::string hint) {
  throw Error(ErrorCode::SampleShape,
              fmt::format("{}: input '{}' wants shape {}, the array has shape {}", where, printable(input.name),
                          shape_text(input.shape), shape_text(got)),
              std::move(hint));
}

// Index of the first NaN or positive infinity: all exponent bits set. Returns count when there is none. Negative
// infinity is no fault: masks of attention say "never" with it.
template <class Bits>
std::size_t first_fault(std::span<const std::byte> bytes, Bits exponent) {
  constexpr Bits kSign = Bits{1} << (8 * sizeof(Bits) - 1);
  constexpr std::size_t kBlock = 256;  // looked at as one, which compilers do with vectors
  const std::size_t count = bytes.size() / sizeof(Bits);
  const auto is_fault = [&](std::size_t i) -> Bits {
    Bits bits = 0;
    std::memcpy(&bits, bytes.data() + i * sizeof(Bits), sizeof(Bits));
    return (bits & exponent) == exponent && bits != (kSign | exponent) ? 1 : 0;
  };
  std::size_t first = 0;
  for (; first + kBlock <= count; first += kBlock) {
    Bits faults = 0;
    for (std::size_t i = 0; i < kBlock; ++i) faults |= is_fault(first + i);
    if (faults != 0) break;
  }
  while (first < count && is_fault(first) == 0) ++first;
  return first;
}

std::size_t first_fault(const Tensor& tensor) {
  const std::span<const std::byte> bytes = tensor.bytes();
  switch (tensor.dtype()) {
    case Dtype::Float32:
      return first_fault<std::uint32_t>(bytes, 0x7F800000U);
    case Dtype::Float64:
      return first_fault<std::uint64_t>(bytes, 0x7FF0000000000000U);
    case Dtype::Float16:
      return first_fault<std::uint16_t>(bytes, 0x7C00U);
    case Dtype::BFloat16:
      return first_fault<std::uint16_t>(bytes, 0x7F80U);
    default:
      return static_cast<std::size_t>(tensor.count());
  }
}

bool is_nan(const Tensor& tensor, std::size_t i) {
  const auto width = static_cast<std::size_t>(dtype_bits(tensor.dtype())) / 8;
  const std::size_t mantissa_bits = tensor.dtype() == Dtype::Float32   ? 23
                                    : tensor.dtype() == Dtype::Float64 ? 52
                                    : tensor.dtype() == Dtype::Float16 ? 10
                                                                       : 7;
  std::uint64_t bits = 0;
  static_assert(std::endian::native == std::endian::little);
  std::memcpy(&bits, tensor.bytes().data() + i * width, width);
  return (bits & ((std::uint64_t{1} << mantissa_bits) - 1)) != 0;
}

void check_values(const Tensor& tensor, const InputInfo& input, std::size_t index, const std::string& where) {
  if (const std::size_t bad = first_fault(tensor); bad != static_cast<std::size_t>(tensor.count())) {
    throw Error(ErrorCode::SampleValues,
                fmt::format("{}: {} in the inputs: sample {}, input '{}', element {}", where,
                            is_nan(tensor, bad) ? "NaN" : "infinity", index, printable(input.name), bad),
                "no comparison means anything on such a sample: correct it or leave it out");
  }
  if (tensor.dtype() == Dtype::Bool &&
      std::any_of(tensor.bytes().begin(), tensor.bytes().end(), [](std::byte b) { return b > std::byte{1}; })) {
    throw Error(ErrorCode::SampleValues,
                fmt::format("{}: sample {}, input '{}' is bool but holds other values than 0 and 1", where, index,
                            printable(input.name)));
  }
}

}  // namespace

Split split_samples(const InputInfo& input, const Shape& array, bool split_batch, const std::string& where) {
  const Dims wanted = input.shape;
  const Dims got = array;
  Split split;
  if (input.any_shape) {  // nobody knows where a sample ends
    split = {1, array};
  } else if (!got.empty() && matches(wanted, got.subspan(1))) {
    split = {static_cast<std::size_t>(got[0]), Shape(got.begin() + 1, got.end())};
  } else if (matches(wanted, got)) {
    split = {1, array};
    if (split_batch && !wanted.empty() && wanted[0] < 0) {
      split.samples = static_cast<std::size_t>(got[0]);
      split.sample_shape[0] = 1;
    }
  } else if (!wanted.empty() && wanted[0] == 1 && got.size() == wanted.size() &&
             matches(wanted.subspan(1), got.subspan(1))) {
    split = {static_cast<std::size_t>(got[0]), array};
    split.sample_shape[0] = 1;
  } else {
    std::string hint = reordered_hint(input.shape, array);
    if (hint.empty()) {
      hint = fmt::format("give {} for N samples, or one sample of exactly {}",
                         input.shape.empty() ? "N values" : "Nx" + shape_text(input.shape), shape_text(input.shape));
    }
    wrong_shape(input, array, where, std::move(hint));
  }
  if (split.samples == 0) {
    throw Error(ErrorCode::NoSamples, fmt::format("{}: holds no sample: the array for input '{}' has shape {}", where,
                                                  printable(input.name), shape_text(array)));
  }
  return split;
}

void check_names(const std::vector<InputInfo>& inputs, const std::vector<std::string>& carried,
                 const std::vector<std::string>& found, const std::string& where, bool spare) {
  std::vector<std::string> wanted;
  for (const InputInfo& input : inputs) wanted.push_back(input.name);
  const auto without = [](std::vector<std::string> names, const std::vector<std::string>& others) {
    std::erase_if(names, [&](const std::string& name) { return std::ranges::find(others, name) != others.end(); });
    return names;
  };
  const std::vector<std::string> unknown = without(found, wanted);
  const std::vector<std::string> missing = without(without(wanted, found), carried);
  const auto fail = [&](const char* what, const std::string& name, const std::string& hint) {
    throw Error(
        ErrorCode::SampleNames,
        fmt::format("{}: {} '{}': the network has inputs {}, the data has arrays {}", where, what, printable(name),
                    wanted.empty() ? "no inputs" : list_some(wanted), found.empty() ? "no arrays" : list_some(found)),
        hint);
  };
  if (!missing.empty()) {
    const std::string& name = missing.front();
    // An array that nobody named can mean nothing else.
    const bool unnamed = unknown.size() == 1 && unknown.front().starts_with("arr_");
    const std::vector<std::string> near = unnamed ? unknown : nearest_names(name, unknown);
    const std::string add = fmt::format("add an array named '{}'", printable(name));
    fail("no array for input", name,
         !near.empty()         ? fmt::format("rename the array '{}' to '{}'", printable(near.front()), printable(name))
         : unknown.size() == 1 ? fmt::format("{}, or rename '{}' if that is the input", add, printable(unknown.front()))
                               : add);
  }
  if (!spare && !unknown.empty()) fail("no input is called", unknown.front(), "leave that array out");
}

void check_shape(const InputInfo& input, const Shape& shape, std::size_t index, const std::string& where) {
  if (input.any_shape || matches(input.shape, shape)) return;
  wrong_shape(input, shape, fmt::format("{}: sample {}", where, index), reordered_hint(input.shape, shape));
}

void check_type(const InputInfo& input, Dtype found, const std::string& where) {
  if (convertible(found, input.dtype)) return;
  throw Error(ErrorCode::SampleValues,
              fmt::format("{}: input '{}' wants {}, the array is {}", where, printable(input.name),
                          dtype_name(input.dtype), dtype_name(found)),
              "convert it to that type; vernier only converts float64, float16 and uint8 to float32, and int32 and "
              "int64 to each other");
}

Tensor fit(const Tensor& found, const InputInfo& input, std::size_t index, const std::string& where) {
  check_shape(input, found.shape(), index, where);
  check_type(input, found.dtype(), where);
  Tensor tensor =
      convert(found, input.dtype, fmt::format("{}: sample {}, input '{}'", where, index, printable(input.name)));
  check_values(tensor, input, index, where);
  return tensor;
}

}  // namespace vernier
