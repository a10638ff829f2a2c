#include "analysis/output_part.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/text.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {
namespace {

[[noreturn]] void refuse_slice(const std::string& text, std::string_view why) {
  throw Error(ErrorCode::BadValue, fmt::format("'{}': {}", printable(text), why),
              "slices are written as in NumPy, along one axis: 'output0[:,4:]'");
}

std::string without_blanks(std::string_view text) {
  std::string kept;
  for (const char letter : text) {
    if (letter != ' ') kept += letter;
  }
  return kept;
}

std::vector<std::string> items_of(std::string_view inside) {
  std::vector<std::string> items;
  std::size_t first = 0;
  while (true) {
    const std::size_t comma = inside.find(',', first);
    items.push_back(without_blanks(inside.substr(first, comma == std::string_view::npos ? comma : comma - first)));
    if (comma == std::string_view::npos) return items;
    first = comma + 1;
  }
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool looks_like_slice(const std::vector<std::string>& items) {
  const auto belongs = [](const std::string& item) {
    return !item.empty() && item.find_first_not_of("0123456789-:.") == std::string::npos;
  };
  const auto slices = [](const std::string& item) { return item.find(':') != std::string::npos || item == "..."; };
  return std::ranges::all_of(items, belongs) && std::ranges::any_of(items, slices);
}

}  // namespace

std::string part_name(const OutputPart& part) {
  std::string text = part.output + (part.axis < 0 ? "[...," : "[");
  for (int i = 0; i < part.axis; ++i) text += ":,";
  if (part.begin != 0) text += fmt::format("{}", part.begin);
  text += ":";
  if (part.end) text += fmt::format("{}", *part.end);
  if (part.step != 1) text += fmt::format(":{}", part.step);
  for (int i = part.axis; i < -1; ++i) text += ",:";
  return text + "]";
}

std::optional<OutputPart> parse_part(const std::string& text) {
  const std::size_t open = text.rfind('[');
  if (open == std::string::npos || open == 0 || !text.ends_with(']')) return std::nullopt;
  const std::vector<std::string> items = items_of(std::string_view(text).substr(open + 1, text.size() - open - 2));
  if (!looks_like_slice(items)) return std::nullopt;
  OutputPart part{text, text.substr(0, open), 0, 0, std::nullopt, 1};
  const bool from_behind = items.front() == "...";
  bool found = false;
  for (std::size_t i = from_behind ? 1 : 0; i < items.size(); ++i) {
    const std::string& item = items[i];
    if (item == ":") continue;
    if (found) refuse_slice(text, "it slices several axes");
    found = true;
    part.axis = from_behind ? static_cast<int>(i) - static_cast<int>(items.size()) : static_cast<int>(i);
    const std::size_t colon = item.find(':');
    const std::size_t second = colon == std::string::npos ? colon : item.find(':', colon + 1);
    if (second != std::string::npos && second + 1 < item.size()) {
      part.step = whole_number(item.substr(second + 1)).value_or(0);
      if (part.step < 1) refuse_slice(text, "its step has to be a whole number above 0");
    }
    const auto begin = colon == 0 ? std::optional<std::int64_t>(0) : whole_number(item.substr(0, colon));
    if (!begin) refuse_slice(text, fmt::format("'{}' is not a slice", item));
    part.begin = *begin;
    if (colon == std::string::npos) {
      if (*begin != -1) part.end = *begin + 1;
    } else if (colon + 1 < std::min(second, item.size())) {
      part.end = whole_number(item.substr(colon + 1, second == std::string::npos ? second : second - colon - 1));
      if (!part.end) refuse_slice(text, fmt::format("'{}' is not a slice", item));
    }
  }
  if (!found) refuse_slice(text, "it slices no axis");
  return part;
}

OutputPart settled(OutputPart part, const Shape& shape) {
  const auto rank = static_cast<int>(shape.size());
  const int axis = part.axis < 0 ? part.axis + rank : part.axis;
  if (axis < 0 || axis >= rank) {
    refuse_slice(part.name, fmt::format("output '{}' has the shape {}", printable(part.output), shape_text(shape)));
  }
  part.axis = axis;
  const std::int64_t length = shape[static_cast<std::size_t>(axis)];
  if (length < 0) return part;
  const auto from_start = [length](std::int64_t place) {
    return std::clamp<std::int64_t>(place < 0 ? place + length : place, 0, length);
  };
  part.begin = from_start(part.begin);
  if (part.end) part.end = from_start(*part.end);
  if (part.end == length) part.end.reset();
  if (part.begin >= part.end.value_or(length)) {
    refuse_slice(part.name, fmt::format("output '{}' has the shape {}: the slice is empty", printable(part.output),
                                        shape_text(shape)));
  }
  return part;
}

std::int64_t places_of(const OutputPart& part, std::int64_t length) {
  return (part.end.value_or(length) - part.begin + part.step - 1) / part.step;
}

Tensor slice_of(const Tensor& output, const OutputPart& part) {
  const Shape& from = output.shape();
  const auto axis = static_cast<std::size_t>(part.axis);
  std::size_t outer = 1, inner = 1;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (i < axis) outer *= static_cast<std::size_t>(from[i]);
    if (i > axis) inner *= static_cast<std::size_t>(from[i]);
  }
  const OutputPart exact = settled(part, from);
  const auto length = static_cast<std::size_t>(from[axis]);
  const auto begin = static_cast<std::size_t>(exact.begin);
  const auto kept = static_cast<std::size_t>(places_of(exact, from[axis]));
  const auto step = static_cast<std::size_t>(exact.step);
  const std::size_t run = (step == 1 ? kept : 1) * inner;  // of neighbouring values
  std::vector<float> values;
  values.reserve(outer * kept * inner);
  for (std::size_t o = 0; o < outer; ++o) {
    for (std::size_t k = 0; k < kept * inner / std::max<std::size_t>(run, 1); ++k) {
      const auto row = output.floats().subspan((o * length + begin + k * step) * inner, run);
      values.insert(values.end(), row.begin(), row.end());
    }
  }
  Shape shape = from;
  shape[axis] = static_cast<std::int64_t>(kept);
  return Tensor::of(shape, values);
}

}  // namespace vernier
