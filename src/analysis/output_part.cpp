#include "analysis/output_part.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <string_view>
#include <system_error>
#include <utility>
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

/// What commas separate, but for those in brackets.
std::vector<std::string> items_of(std::string_view inside) {
  std::vector<std::string> items(1);
  bool listed = false;
  for (const char letter : without_blanks(inside)) {
    listed = letter == '[' || (listed && letter != ']');
    if (letter == ',' && !listed) {
      items.emplace_back();
    } else {
      items.back() += letter;
    }
  }
  return items;
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool is_list(std::string_view item) { return item.size() > 2 && item.front() == '[' && item.back() == ']'; }

bool looks_like_slice(const std::vector<std::string>& items) {
  const auto belongs = [](const std::string& item) {
    const std::string inside = is_list(item) ? item.substr(1, item.size() - 2) : item;
    return !inside.empty() && inside.find_first_not_of(is_list(item) ? "0123456789:," : "0123456789-:.") == inside.npos;
  };
  const auto slices = [](const std::string& item) {
    return item.find(':') != std::string::npos || item == "..." || is_list(item);
  };
  return std::ranges::all_of(items, belongs) && std::ranges::any_of(items, slices);
}

/// "[0,5:10]": rising, none twice.
std::vector<std::int64_t> listed_places(const std::string& text, const std::string& list) {
  constexpr std::int64_t kMost = 1 << 20;
  std::vector<std::int64_t> places;
  for (const std::string& run : items_of(std::string_view(list).substr(1, list.size() - 2))) {
    const std::size_t colon = run.find(':');
    const auto begin = whole_number(std::string_view(run).substr(0, colon));
    const auto end = colon == std::string::npos ? begin : whole_number(std::string_view(run).substr(colon + 1));
    const std::int64_t behind = end.value_or(0) + (colon == std::string::npos ? 1 : 0);
    const bool rises = begin && end && behind > *begin && (places.empty() || *begin > places.back());
    if (!rises || behind - *begin > kMost)
      refuse_slice(text, fmt::format("'{}' does not list places in ascending order", list));
    for (std::int64_t place = *begin; place < behind; ++place) places.push_back(place);
  }
  return places;
}

std::string list_of(const std::vector<std::int64_t>& places) {
  std::string text;
  for (std::size_t first = 0; first < places.size();) {
    std::size_t behind = first + 1;
    while (behind < places.size() && places[behind] == places[behind - 1] + 1) ++behind;
    if (!text.empty()) text += ",";
    text += fmt::format("{}", places[first]);
    if (behind - first > 1) text += fmt::format(":{}", places[behind - 1] + 1);
    first = behind;
  }
  return "[" + text + "]";
}

/// Of the bracket that `text` ends with; npos: none opens it.
std::size_t opening_bracket(std::string_view text) {
  int depth = 0;
  for (std::size_t i = text.size(); i-- > 0;) {
    if (text[i] == ']') ++depth;
    if (text[i] == '[' && --depth == 0) return i;
  }
  return std::string_view::npos;
}

constexpr std::array<std::pair<MaskSide, std::string_view>, 3> kLimits{
    {{MaskSide::Both, "[abs<"}, {MaskSide::Negative, "[>-"}, {MaskSide::Positive, "[<"}}};

/// Takes "[abs<100]", "[>-100]" or "[<100]" off the end of `text`; no mask where it does not end so.
MaskLimit take_limit(std::string& text) {
  const std::size_t open = text.rfind('[');
  if (open == std::string::npos || open == 0 || !text.ends_with(']')) return {};
  for (const auto& [side, limit] : kLimits) {
    if (!std::string_view(text).substr(open).starts_with(limit)) continue;
    const char* const last = text.data() + text.size() - 1;
    float size = 0;
    const auto [end, error] = std::from_chars(text.data() + open + limit.size(), last, size);
    if (error != std::errc{} || end != last || !(size > 0)) return {};
    text.resize(open);
    return {size, side};
  }
  return {};
}

std::string limit_text(const MaskLimit& mask) {
  if (!mask.exists()) return {};
  return fmt::format("{}{:g}]", kLimits.at(static_cast<std::size_t>(mask.side)).second, mask.size);
}

}  // namespace

std::string part_name(const OutputPart& part) {
  const std::string limit = limit_text(part.mask);
  if (part.all_places() && part.mask.exists()) return part.output + limit;
  std::string text = part.output + (part.axis < 0 ? "[...," : "[");
  for (int i = 0; i < part.axis; ++i) text += ":,";
  if (part.places.empty()) {
    if (part.begin != 0) text += fmt::format("{}", part.begin);
    text += ":";
    if (part.end) text += fmt::format("{}", *part.end);
    if (part.step != 1) text += fmt::format(":{}", part.step);
  } else {
    text += list_of(part.places);
  }
  for (int i = part.axis; i < -1; ++i) text += ",:";
  return text + "]" + limit;
}

std::optional<OutputPart> parse_part(const std::string& text) {
  std::string sliced = text;
  const MaskLimit mask = take_limit(sliced);
  const OutputPart whole{text, sliced, 0, 0, std::nullopt, 1, {}, mask};
  const std::optional<OutputPart> otherwise = mask.exists() ? std::optional(whole) : std::nullopt;
  if (!sliced.ends_with(']')) return otherwise;
  const std::size_t open = opening_bracket(sliced);
  if (open == std::string::npos || open == 0) return otherwise;
  const std::vector<std::string> items = items_of(std::string_view(sliced).substr(open + 1, sliced.size() - open - 2));
  if (!looks_like_slice(items)) return otherwise;
  OutputPart part = whole;
  part.output = sliced.substr(0, open);
  const bool from_behind = items.front() == "...";
  bool found = false;
  for (std::size_t i = from_behind ? 1 : 0; i < items.size(); ++i) {
    const std::string& item = items[i];
    if (item == ":") continue;
    if (found) refuse_slice(text, "it slices several axes");
    found = true;
    part.axis = from_behind ? static_cast<int>(i) - static_cast<int>(items.size()) : static_cast<int>(i);
    if (is_list(item)) {
      part.places = listed_places(text, item);
      continue;
    }
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
  if (!found || (part.all_places() && !mask.exists())) refuse_slice(text, "it slices no axis");
  return part;
}

OutputPart part_of_shape(const OutputPart& part, const Shape& shape) {
  OutputPart found = settled(part, shape);
  if (found.all_places() && !found.mask.exists() && !part.all_places()) {
    refuse_slice(part.name, fmt::format("output '{}' has the shape {}: the slice is all of it", printable(part.output),
                                        shape_text(shape)));
  }
  return found;
}

OutputPart settled(OutputPart part, const Shape& shape) {
  if (part.all_places()) return part;
  const auto rank = static_cast<int>(shape.size());
  const int axis = part.axis < 0 ? part.axis + rank : part.axis;
  if (axis < 0 || axis >= rank) {
    refuse_slice(part.name, fmt::format("output '{}' has the shape {}", printable(part.output), shape_text(shape)));
  }
  part.axis = axis;
  const std::int64_t length = shape[static_cast<std::size_t>(axis)];
  if (length < 0) return part;
  if (!part.places.empty() && part.places.back() >= length) {
    refuse_slice(part.name, fmt::format("output '{}' has the shape {}: there is no place {}", printable(part.output),
                                        shape_text(shape), part.places.back()));
  }
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
  if (!part.places.empty()) return static_cast<std::int64_t>(part.places.size());
  return (part.end.value_or(length) - part.begin + part.step - 1) / part.step;
}

namespace {

/// The values at the places of a part, and their shape.
std::vector<float> values_at(const Tensor& output, const OutputPart& part, Shape& shape) {
  shape = output.shape();
  if (part.all_places()) return {output.floats().begin(), output.floats().end()};
  const auto axis = static_cast<std::size_t>(part.axis);
  std::size_t outer = 1, inner = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i < axis) outer *= static_cast<std::size_t>(shape[i]);
    if (i > axis) inner *= static_cast<std::size_t>(shape[i]);
  }
  const OutputPart exact = settled(part, shape);
  const auto length = static_cast<std::size_t>(shape[axis]);
  const auto begin = static_cast<std::size_t>(exact.begin);
  const auto kept = static_cast<std::size_t>(places_of(exact, shape[axis]));
  const auto step = static_cast<std::size_t>(exact.step);
  const std::size_t run = exact.places.empty() && step == 1 ? kept : 1;  // of neighbouring places
  std::vector<float> values;
  values.reserve(outer * kept * inner);
  for (std::size_t o = 0; o < outer; ++o) {
    for (std::size_t k = 0; k < kept; k += run) {
      const std::size_t place = exact.places.empty() ? begin + k * step : static_cast<std::size_t>(exact.places[k]);
      const auto row = output.floats().subspan((o * length + place) * inner, run * inner);
      values.insert(values.end(), row.begin(), row.end());
    }
  }
  shape[axis] = static_cast<std::int64_t>(kept);
  return values;
}

}  // namespace

Tensor slice_of(const Tensor& output, const OutputPart& part) {
  Shape shape;
  std::vector<float> values = values_at(output, part, shape);
  if (part.mask.exists()) {
    for (float& value : values) value = part.mask.masks(value) ? 0 : value;
  }
  return Tensor::of(shape, values);
}

}  // namespace vernier
