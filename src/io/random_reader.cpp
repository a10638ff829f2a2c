// Random data, the numbers that Polygraphy's default data loader gives for the same seed, ranges and shapes: sample i
// comes from numpy.random.RandomState(seed + i), inputs in the network's order. Indices stay within their limit, which
// the peer does not know; without any range they are drawn from all of it.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/float_codes.h"
#include "base/text.h"
#include "io/array_reader.h"
#include "io/numpy_random.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

using Range = std::pair<double, double>;

bool draws_integers(Dtype dtype) {
  switch (dtype) {
    case Dtype::UInt8:
    case Dtype::Int8:
    case Dtype::UInt16:
    case Dtype::Int16:
    case Dtype::UInt32:
    case Dtype::Int32:
    case Dtype::UInt64:
    case Dtype::Int64:
      return true;
    default:
      return false;
  }
}

bool draws_floats(Dtype dtype) {
  return dtype == Dtype::Float32 || dtype == Dtype::Float64 || dtype == Dtype::Float16 || dtype == Dtype::BFloat16;
}

// What one input is drawn as. A shape tensor (an integer vector whose given "shape" has its length) takes that as its
// values.
struct Draw {
  InputInfo input;
  Shape shape;
  std::optional<Shape> values;
  bool is_zero = false;  // carried state starts at zero
  Range range{0, 1};
};

[[noreturn]] void refuse_option(const std::string& what, std::string hint = {}) {
  throw Error(ErrorCode::BadValue, what, std::move(hint));
}

// The entry for `name`: its own, or that of the first wildcard that matches.
template <class T>
const T* entry_for(const std::map<std::string, T>& entries, const std::string& name) {
  if (const auto own = entries.find(name); own != entries.end()) return &own->second;
  for (const auto& [pattern, value] : entries) {
    if (!pattern.empty() && wildcard_match(pattern, name)) return &value;
  }
  return nullptr;
}

template <class T>
void check_entries(const std::map<std::string, T>& entries, const std::vector<InputInfo>& inputs,
                   std::string_view option) {
  std::vector<std::string> names;
  for (const InputInfo& input : inputs) names.push_back(input.name);
  for (const auto& [pattern, value] : entries) {
    const std::string& wanted = pattern;
    if (pattern.empty() || std::any_of(names.begin(), names.end(), [&wanted](const std::string& name) {
          return name == wanted || wildcard_match(wanted, name);
        })) {
      continue;
    }
    const std::vector<std::string> near = nearest_names(pattern, names);
    refuse_option(
        fmt::format("{} names '{}', the network's inputs are {}", option, printable(pattern), list_some(names)),
        near.empty() ? "" : fmt::format("nearest: {}", list_some(near)));
  }
}

Shape fixed_shape(const InputInfo& input, const Shape* given) {
  Shape shape = input.shape;
  for (std::int64_t& dim : shape) dim = dim < 0 ? 1 : dim;
  if (given == nullptr) return shape;
  if (input.any_shape) {
    shape = *given;
    for (std::int64_t& dim : shape) dim = dim < 0 ? 1 : dim;
    return shape;
  }
  bool fits = given->size() == input.shape.size();
  for (std::size_t i = 0; fits && i < given->size(); ++i) {
    if ((*given)[i] < 0) continue;  // left open: as if nothing was given
    fits = input.shape[i] < 0 || input.shape[i] == (*given)[i];
    shape[i] = (*given)[i];
  }
  if (!fits) {
    refuse_option(fmt::format("‹input-shapes›: input '{}' has shape {}, which {} does not fit", printable(input.name),
                              shape_text(input.shape), shape_text(*given)));
  }
  return shape;
}

// Drawn integers lie in [first, second], which must be numbers of the type.
void check_integer_range(const InputInfo& input, const Range& range) {
  const int bits = dtype_bits(input.dtype);
  const bool is_signed = input.dtype == Dtype::Int8 || input.dtype == Dtype::Int16 || input.dtype == Dtype::Int32 ||
                         input.dtype == Dtype::Int64;
  const double least = is_signed ? -std::ldexp(1.0, bits - 1) : 0.0;
  const double end = std::ldexp(1.0, std::min(is_signed ? bits - 1 : bits, 63));
  if (range.first < least || range.second >= end) {
    refuse_option(fmt::format("‹val-range› [{}, {}] of input '{}' goes beyond {}", range.first, range.second,
                              printable(input.name), dtype_name(input.dtype)));
  }
}

Range range_of(const InputInfo& input, const SourceOptions& options) {
  const Range* own = entry_for(options.value_ranges, input.name);
  const auto rest = options.value_ranges.find("");
  Range range{0, 1};
  if (own != nullptr) {
    range = *own;
  } else if (rest != options.value_ranges.end()) {
    range = rest->second;
    if (input.index_limit > 0) {  // a range for all inputs is not about this one
      const auto last = static_cast<double>(input.index_limit - 1);
      range = {std::clamp(range.first, 0.0, last), std::clamp(range.second, 0.0, last)};
    }
  } else if (input.index_limit > 0) {
    return {0, static_cast<double>(input.index_limit - 1)};
  }
  if (!(range.first <= range.second) || !std::isfinite(range.second - range.first)) {
    refuse_option(fmt::format("‹val-range› [{}, {}] of input '{}' is not a range", range.first, range.second,
                              printable(input.name)));
  }
  if (input.dtype == Dtype::Bool) {  // as Python's bool()
    range = {range.first != 0 ? 1 : 0, range.second != 0 ? 1 : 0};
    if (range.first > range.second) {
      refuse_option(fmt::format("‹val-range› of input '{}', which is bool, begins with true and ends with false",
                                printable(input.name)));
    }
  } else if (!draws_floats(input.dtype)) {  // as Python's int()
    range = {std::trunc(range.first), std::trunc(range.second)};
  }
  if (draws_integers(input.dtype)) check_integer_range(input, range);
  if (input.index_limit > 0 && range.second >= static_cast<double>(input.index_limit)) {
    refuse_option(fmt::format("‹val-range› [{}, {}] of input '{}' goes beyond its {} valid indices", range.first,
                              range.second, printable(input.name), input.index_limit));
  }
  return range;
}

Draw plan_draw(const InputInfo& input, const SourceOptions& options) {
  if (!draws_floats(input.dtype) && !draws_integers(input.dtype) && input.dtype != Dtype::Bool) {
    const std::string_view kind =
        input.dtype == Dtype::Undefined ? "a sequence, an optional or a map" : dtype_name(input.dtype);
    throw Error(ErrorCode::SampleFile,
                fmt::format("input '{}' is {}, for which there is no random data", printable(input.name), kind),
                "give real inputs with ‹data›");
  }
  Draw draw{input, {}, std::nullopt, false, {0, 1}};
  const Shape* given = entry_for(options.shapes, input.name);
  const bool is_shape_tensor = given != nullptr && draws_integers(input.dtype) && input.shape.size() == 1 &&
                               input.shape[0] == static_cast<std::int64_t>(given->size());
  if (is_shape_tensor && !(given->size() == 1 && input.shape == *given)) {
    draw.shape = input.shape;
    draw.values = *given;
    return draw;
  }
  draw.shape = fixed_shape(input, given);
  draw.is_zero = std::find(options.carried.begin(), options.carried.end(), input.name) != options.carried.end();
  if (!draw.is_zero) draw.range = range_of(input, options);
  return draw;
}

void store_integer(std::span<std::byte> out, std::size_t i, std::size_t width, std::uint64_t value) {
  static_assert(std::endian::native == std::endian::little);
  std::memcpy(out.data() + i * width, &value, width);
}

void store_float(std::span<std::byte> out, std::size_t i, Dtype dtype, double value) {
  if (dtype == Dtype::Float64) {
    std::memcpy(out.data() + i * sizeof(double), &value, sizeof(double));
  } else if (dtype == Dtype::Float32) {
    const auto narrow = static_cast<float>(value);
    std::memcpy(out.data() + i * sizeof(float), &narrow, sizeof(float));
  } else {
    const std::uint16_t bits = dtype == Dtype::Float16 ? float16_bits(value) : bfloat16_bits(static_cast<float>(value));
    std::memcpy(out.data() + i * sizeof(bits), &bits, sizeof(bits));
  }
}

Tensor draw_tensor(const Draw& draw, NumpyRandom& random) {
  const Dtype dtype = draw.input.dtype;
  Tensor tensor(dtype, draw.shape);
  if (draw.is_zero) return tensor;
  const std::span<std::byte> out = tensor.mutable_bytes();
  const auto count = static_cast<std::size_t>(tensor.count());
  const std::size_t width = static_cast<std::size_t>(dtype_bits(dtype)) / 8;
  if (draw.values) {
    for (std::size_t i = 0; i < count; ++i) store_integer(out, i, width, static_cast<std::uint64_t>((*draw.values)[i]));
  } else if (draws_floats(dtype)) {
    for (std::size_t i = 0; i < count; ++i) {
      store_float(out, i, dtype, random.unit() * (draw.range.second - draw.range.first) + draw.range.first);
    }
  } else {
    const auto least = static_cast<std::int64_t>(draw.range.first);
    const auto most = static_cast<std::int64_t>(draw.range.second);
    const std::uint64_t span = static_cast<std::uint64_t>(most) - static_cast<std::uint64_t>(least);
    NumpyRandom::Integers integers = random.integers(span, dtype == Dtype::Bool ? 1 : dtype_bits(dtype));
    for (std::size_t i = 0; i < count; ++i) {
      store_integer(out, i, width, static_cast<std::uint64_t>(least) + integers.next());
    }
  }
  return tensor;
}

class RandomReader final : public ArrayReader {
 public:
  RandomReader(const SourceOptions& options, const std::vector<InputInfo>& inputs)
      : seed_(options.seed), samples_(options.random_samples) {
    check_entries(options.value_ranges, inputs, "‹val-range›");
    check_entries(options.shapes, inputs, "‹input-shapes›");
    for (const InputInfo& input : inputs) draws_.push_back(plan_draw(input, options));
    Range range{0, 1};
    if (const auto all = options.value_ranges.find(""); all != options.value_ranges.end()) range = all->second;
    const bool per_input = options.value_ranges.size() > options.value_ranges.count("");
    description_ = fmt::format("random data, uniform in [{}, {}]{}, seed {}", range.first, range.second,
                               per_input ? " or the range given for an input" : "", seed_);
  }

  std::size_t size() const override { return samples_; }

  FoundSample read(std::size_t index) const override {
    NumpyRandom random(static_cast<std::uint32_t>(seed_ + index));
    FoundSample found{{}, "random data"};
    for (const Draw& draw : draws_) found.arrays.emplace(draw.input.name, draw_tensor(draw, random));
    return found;
  }

  std::string random_description() const override { return description_; }

 private:
  std::uint64_t seed_;
  std::size_t samples_;
  std::vector<Draw> draws_;
  std::string description_;
};

}  // namespace

std::unique_ptr<ArrayReader> open_random(const SourceOptions& options, const std::vector<InputInfo>& inputs) {
  return std::make_unique<RandomReader>(options, inputs);
}

}  // namespace vernier
