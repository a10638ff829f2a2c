#include "io/array_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "base/float_codes.h"
#include "vernier/error.h"

namespace vernier {
namespace {

constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();
constexpr std::int64_t kSummarizedOver = 1000;
constexpr std::size_t kPrecision = 8;

template <class T>
T load(const Tensor& array, std::size_t index) {
  T value;
  std::memcpy(&value, array.bytes().data() + index * sizeof(T), sizeof(T));
  return value;
}

/// Of the types that NumPy has: text of others is nobody's.
bool is_numpy_float(Dtype dtype) {
  return dtype == Dtype::Float16 || dtype == Dtype::Float32 || dtype == Dtype::Float64;
}

double float_at(const Tensor& array, std::size_t index) {
  switch (array.dtype()) {
    case Dtype::Float16:
      return static_cast<double>(float16_value(load<std::uint16_t>(array, index)));
    case Dtype::Float32:
      return static_cast<double>(load<float>(array, index));
    default:
      return load<double>(array, index);
  }
}

std::string integer_at(const Tensor& array, std::size_t index) {
  switch (array.dtype()) {
    case Dtype::Int8:
      return fmt::format("{}", static_cast<int>(load<std::int8_t>(array, index)));
    case Dtype::UInt8:
      return fmt::format("{}", static_cast<int>(load<std::uint8_t>(array, index)));
    case Dtype::Int16:
      return fmt::format("{}", load<std::int16_t>(array, index));
    case Dtype::UInt16:
      return fmt::format("{}", load<std::uint16_t>(array, index));
    case Dtype::Int32:
      return fmt::format("{}", load<std::int32_t>(array, index));
    case Dtype::UInt32:
      return fmt::format("{}", load<std::uint32_t>(array, index));
    case Dtype::Int64:
      return fmt::format("{}", load<std::int64_t>(array, index));
    case Dtype::UInt64:
      return fmt::format("{}", load<std::uint64_t>(array, index));
    default:
      throw Error(ErrorKind::Internal, fmt::format("no text for values of type {}", dtype_name(array.dtype())));
  }
}

// The fewest decimal digits that still mean this value in its own type: "d.ddde+xx" split up.
struct Digits {
  std::string text;      // "-1.25e-07"
  std::size_t fraction;  // digits behind the point: 2
  int exponent;          // -7
};

Digits shortest(double value, Dtype dtype) {
  std::array<char, 40> buffer;
  char* const begin = buffer.data();
  char* const limit = begin + buffer.size();
  char* end = begin;
  if (dtype == Dtype::Float32) {
    end = std::to_chars(begin, limit, static_cast<float>(value), std::chars_format::scientific).ptr;
  } else if (dtype == Dtype::Float64) {
    end = std::to_chars(begin, limit, value, std::chars_format::scientific).ptr;
  } else {
    // Five digits tell all numbers of eleven bits apart.
    for (int digits = 0; digits < 5; ++digits) {
      end = std::to_chars(begin, limit, value, std::chars_format::scientific, digits).ptr;
      double back = 0;
      std::from_chars(begin, end, back);
      if (float16_bits(back) == float16_bits(value)) break;
    }
  }
  Digits made{std::string(begin, end), 0, 0};
  const std::size_t e = made.text.find('e');
  const std::size_t point = made.text.find('.');
  if (point < e) made.fraction = e - point - 1;
  std::from_chars(made.text.data() + e + (made.text[e + 1] == '+' ? 2 : 1), made.text.data() + made.text.size(),
                  made.exponent);
  return made;
}

std::string without_last_zeros(std::string text) {
  text.erase(text.find_last_not_of('0') + 1);
  return text;
}

// "1.5", "2.": at most eight digits behind the point.
std::string plain_text(double value, Dtype dtype) {
  const Digits digits = shortest(value, dtype);
  const auto wanted = static_cast<int>(digits.fraction) - digits.exponent;
  const auto decimals = static_cast<int>(std::clamp(wanted, 0, static_cast<int>(kPrecision)));
  const std::string text = fmt::format("{:.{}f}", value, decimals);
  return decimals == 0 ? text + "." : without_last_zeros(text);
}

// The part in front of 'e' with its point, and the exponent's sign and digits: "1.25", "-07".
std::pair<std::string, std::string> scientific_parts(double value, Dtype dtype) {
  Digits digits = shortest(value, dtype);
  if (digits.fraction > kPrecision) digits.text = fmt::format("{:.{}e}", value, kPrecision);
  const std::size_t e = digits.text.find('e');
  std::string front = digits.text.substr(0, e);
  front = front.find('.') == std::string::npos ? front + "." : without_last_zeros(std::move(front));
  return {front, digits.text.substr(e + 1)};
}

// From here on NumPy shows powers, as the type no longer holds every whole number's digits.
double whole_digits_below(Dtype dtype) {
  if (dtype == Dtype::Float16) return 1e3;
  return dtype == Dtype::Float32 ? 1e6 : 1e16;
}

std::string not_finite_text(double value) { return std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf"; }

std::string padded_left(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

// Texts of one width for values that are shown together.
std::vector<std::string> float_texts(const std::vector<double>& values, Dtype dtype) {
  double largest = 0;
  double smallest = std::numeric_limits<double>::infinity();
  bool all_finite = true;
  bool minus_infinity = false;
  for (const double value : values) {
    if (!std::isfinite(value)) {
      all_finite = false;
      minus_infinity = minus_infinity || (std::isinf(value) && value < 0);
    } else if (value != 0) {
      largest = std::max(largest, std::fabs(value));
      smallest = std::min(smallest, std::fabs(value));
    }
  }
  const double plain_below = std::min(1e8, whole_digits_below(dtype));
  const bool powers = largest > 0 && (largest >= plain_below || smallest < 1e-4 || largest / smallest > 1000);

  std::vector<std::pair<std::string, std::string>> parts(values.size());  // with its point; behind it or the exponent
  std::size_t left = 0;
  std::size_t right = 0;
  std::size_t exponent = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) continue;
    std::pair<std::string, std::string> split;
    if (powers) {
      split = scientific_parts(values[i], dtype);
      exponent = std::max(exponent, split.second.size());
    } else {
      split.first = plain_text(values[i], dtype);
    }
    const std::size_t point = split.first.find('.');
    left = std::max(left, point);
    right = std::max(right, split.first.size() - point - 1);
    parts[i] = std::move(split);
  }
  const std::size_t behind = powers ? right + 1 + exponent : right;  // 'e' and its digits
  if (!all_finite) {
    const auto room = [behind](std::size_t size) { return size > behind + 1 ? size - behind - 1 : 0; };
    left = std::max({left, room(3), room(3 + (minus_infinity ? 1 : 0))});
  }
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      texts.push_back(padded_left(not_finite_text(values[i]), left + behind + 1));
      continue;
    }
    if (powers) {
      // All with as many digits as the longest: where the shortest form ends, digits of the exact value follow.
      const std::string text = fmt::format("{:.{}e}", values[i], right);
      const std::size_t e = text.find('e');
      const std::string power = text.substr(e + 1);
      const std::string point = right == 0 ? "." : "";
      texts.push_back(padded_left(text.substr(0, e), left + (right == 0 ? 0 : right + 1)) + point + 'e' + power[0] +
                      std::string(exponent - power.size(), '0') + power.substr(1));
      continue;
    }
    const std::string& front = parts[i].first;
    const std::size_t point = front.find('.');
    std::string text = padded_left(front.substr(0, point), left) + front.substr(point);
    text.append(right - (front.size() - point - 1), ' ');
    texts.push_back(std::move(text));
  }
  return texts;
}

std::vector<std::string> texts_of(const Tensor& array, const std::vector<std::size_t>& shown) {
  std::vector<std::string> texts;
  if (is_numpy_float(array.dtype())) {
    std::vector<double> values;
    for (const std::size_t index : shown) values.push_back(float_at(array, index));
    return float_texts(values, array.dtype());
  }
  std::size_t width = 0;
  for (const std::size_t index : shown) {
    if (array.dtype() == Dtype::Bool) {
      texts.push_back(load<std::uint8_t>(array, index) != 0 ? " True" : "False");
    } else {
      texts.push_back(integer_at(array, index));
    }
    width = std::max(width, texts.back().size());
  }
  for (std::string& text : texts) text = padded_left(text, width);
  return texts;
}

std::string scalar_text(const Tensor& array) {
  if (array.dtype() == Dtype::Bool) return load<std::uint8_t>(array, 0) != 0 ? "True" : "False";
  if (!is_numpy_float(array.dtype())) return integer_at(array, 0);
  const double value = float_at(array, 0);
  if (!std::isfinite(value)) return not_finite_text(value);
  const Digits digits = shortest(value, array.dtype());
  if (value != 0 && (digits.exponent < -4 || std::fabs(value) >= whole_digits_below(array.dtype()))) return digits.text;
  const auto decimals = std::max(1, static_cast<int>(digits.fraction) - digits.exponent);
  return fmt::format("{:.{}f}", value, decimals);
}

// Rows, brackets and line ends around the texts of the values.
class Layout {
 public:
  Layout(const Shape& shape, std::size_t edge_items, std::size_t line_width)
      : shape_(shape), edge_items_(edge_items), line_width_(line_width) {}

  /// Flat indices of the values that are shown, in order.
  std::vector<std::size_t> shown() const {
    std::vector<std::size_t> indices;
    collect(0, 0, indices);
    return indices;
  }

  std::string text(const std::vector<std::string>& texts) {
    next_ = texts.begin();
    return part(0, " ", line_width_);
  }

 private:
  std::size_t length(std::size_t axis) const { return static_cast<std::size_t>(shape_[axis]); }
  bool cut(std::size_t axis) const { return edge_items_ != kNoLimit && edge_items_ < (length(axis) + 1) / 2; }

  void collect(std::size_t axis, std::size_t start, std::vector<std::size_t>& indices) const {
    if (axis == shape_.size()) return indices.push_back(start);
    for (std::size_t i = 0; i < length(axis); ++i) {
      if (cut(axis) && i == edge_items_) i = length(axis) - edge_items_;
      if (i < length(axis)) collect(axis + 1, start * length(axis) + i, indices);
    }
  }

  std::string part(std::size_t axis, const std::string& indent, std::size_t width) {
    return axis + 1 == shape_.size() ? row(axis, indent, width) : rows(axis, indent, width);
  }

  std::string row(std::size_t axis, const std::string& indent, std::size_t width) {
    const std::size_t room = width == kNoLimit ? kNoLimit : width - std::min<std::size_t>(width, 1);  // for the bracket
    std::string done;
    std::string line = indent;
    const auto put = [&](const std::string& word) {
      // A line that holds nothing yet would not gain by a break.
      if (line.size() + word.size() > room && line.size() > indent.size()) {
        done += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
        line = indent;
      }
      line += word;
    };
    const std::size_t count = length(axis);
    for (std::size_t i = 0; i < count; ++i) {
      if (i > 0) line += ' ';
      if (cut(axis) && i == edge_items_) {
        put("...");
        i = count - edge_items_ - 1;
        continue;
      }
      put(*next_++);
    }
    done += line;
    return "[" + done.substr(indent.size()) + "]";
  }

  std::string rows(std::size_t axis, const std::string& indent, std::size_t width) {
    const std::string between(shape_.size() - axis - 1, '\n');
    const std::size_t inner = width == kNoLimit ? kNoLimit : width - std::min<std::size_t>(width, 1);
    std::string text;
    const std::size_t count = length(axis);
    for (std::size_t i = 0; i < count; ++i) {
      if (i > 0) text += between + indent;
      if (cut(axis) && i == edge_items_) {
        text += "...";
        i = count - edge_items_ - 1;
        continue;
      }
      text += part(axis + 1, indent + ' ', inner);
    }
    return "[" + text + "]";
  }

  const Shape& shape_;
  std::size_t edge_items_, line_width_;
  std::vector<std::string>::const_iterator next_;
};

}  // namespace

std::string array_text(const Tensor& array, const ArrayTextOptions& options) {
  if (array.shape().empty()) return scalar_text(array);
  if (array.count() == 0) return "[]";
  const bool summarized = array.count() > kSummarizedOver && options.edge_items;
  Layout layout(array.shape(), summarized ? *options.edge_items : kNoLimit, options.line_width.value_or(kNoLimit));
  return layout.text(texts_of(array, layout.shown()));
}

}  // namespace vernier
