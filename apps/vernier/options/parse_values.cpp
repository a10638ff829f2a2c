#include "options/parse_values.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>

#include "base/text.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier::cli {
namespace {

[[noreturn]] void wrong(std::string_view option, const std::string& text, const std::string& wanted,
                        std::string hint = {}) {
  throw Error(ErrorCode::BadValue, fmt::format("{}: '{}' is not {}", option, printable(text), wanted), std::move(hint));
}

std::optional<double> number_in(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    std::string_view part = text.substr(0, end);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    parts.push_back(part);
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string nearest_hint(const std::string& text, const std::vector<std::string>& choices) {
  const std::vector<std::string> near = nearest_names(text, choices, 1);
  return near.empty() ? "one of: " + list_some(choices, choices.size())
                      : fmt::format("did you mean {}? one of: {}", near.front(), list_some(choices, choices.size()));
}

/// "name:[a,b]" -> {"name", "a,b"}; nullopt without a bracketed list at the end.
std::optional<std::pair<std::string, std::string_view>> bracketed(std::string_view text) {
  if (!text.ends_with(']')) return std::nullopt;
  const std::size_t open = text.rfind('[');
  if (open == std::string_view::npos || (open > 0 && text[open - 1] != ':')) return std::nullopt;
  const std::string_view inside = text.substr(open + 1, text.size() - open - 2);
  return std::pair{std::string(text.substr(0, open == 0 ? 0 : open - 1)), inside};
}

}  // namespace

std::uint64_t parse_count(std::string_view option, const std::string& text, std::uint64_t least, std::uint64_t most) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
    wrong(option, text,
          most == std::numeric_limits<std::uint64_t>::max() ? fmt::format("a whole number, {} or more", least)
                                                            : fmt::format("a whole number from {} to {}", least, most));
  }
  return value;
}

double parse_number(std::string_view option, const std::string& text) {
  const std::optional<double> value = number_in(text);
  if (!value) wrong(option, text, "a finite number");
  return *value;
}

std::string hint_of_percent(std::string_view option, double value) {
  return value > 1 && value <= 100 ? fmt::format("shares are from 0 to 1: {} {:g}", option, value / 100) : "";
}

Format parse_format_name(std::string_view option, const std::string& text) {
  if (const std::optional<Format> format = parse_format(text)) return *format;
  const std::span<const std::string_view> known = words_of(Format{});
  std::vector<std::string> names(known.begin(), known.end());
  names.insert(names.end(), {"fp32", "fp16", "bf16", "fp8"});
  wrong(option, text, "a format", nearest_hint(text, names));
}

std::vector<Format> parse_format_names(std::string_view option, const std::string& text) {
  std::vector<Format> formats;
  for (const std::string_view name : split(text, ',')) formats.push_back(parse_format_name(option, std::string(name)));
  return formats;
}

Device parse_device_name(std::string_view option, const std::string& text) {
  if (const std::optional<Device> device = parse_device(text)) return *device;
  wrong(option, text, "a device", "auto, cpu, cuda or cuda:N, N from 0");
}

ByteSize parse_byte_size(std::string_view option, const std::string& text) {
  if (const std::optional<ByteSize> size = parse_size(text)) return *size;
  wrong(option, text, "a size", "8G, 512M, or bytes");
}

const std::string& parse_choice(std::string_view option, const std::string& text,
                                const std::vector<std::string>& choices) {
  for (const std::string& choice : choices) {
    if (choice == text) return choice;
  }
  wrong(option, text, "a known value", nearest_hint(text, choices));
}

std::pair<std::string, std::string> parse_pair(std::string_view option, const std::string& text,
                                               std::string_view form) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == text.size()) {
    wrong(option, text, fmt::format("of the form {}", form), "the last colon separates; names may contain others");
  }
  return {text.substr(0, colon), text.substr(colon + 1)};
}

std::pair<std::string, std::pair<double, double>> parse_value_range(std::string_view option, const std::string& text) {
  const auto parts = bracketed(text);
  if (parts) {
    const std::vector<std::string_view> ends = split(parts->second, ',');
    if (ends.size() == 2) {
      const std::optional<double> low = number_in(ends[0]);
      const std::optional<double> high = number_in(ends[1]);
      if (low && high && *low > *high) {
        throw Error(ErrorCode::BadValue,
                    fmt::format("{}: '{}' is an empty range: {} > {}", option, printable(text), *low, *high));
      }
      if (low && high) return {parts->first, {*low, *high}};
    }
  }
  wrong(option, text, "of the form [lo,hi] or name:[lo,hi]", "for example --val-range x:[-1,1]");
}

namespace {

std::pair<std::string, OpenShape> parse_shape(std::string_view option, const std::string& text, Dims dims) {
  std::string name;
  std::vector<std::string_view> parts_of_shape;
  if (const auto parts = bracketed(text)) {
    name = parts->first;
    if (!parts->second.empty()) parts_of_shape = split(parts->second, ',');
  } else if (const std::size_t colon = text.rfind(':'); colon != std::string::npos) {
    name = text.substr(0, colon);
    parts_of_shape = split(std::string_view(text).substr(colon + 1), 'x');
  }
  OpenShape shape;
  bool valid = !name.empty();
  for (const std::string_view dim : parts_of_shape) {
    const bool named = !dim.empty() && (std::isalpha(static_cast<unsigned char>(dim.front())) != 0 ||
                                        dim.front() == '"' || dim.front() == '\'' || dim.front() == '_');
    shape.names.emplace_back();
    if (dims == Dims::MayBeOpen && (named || dim == "-1")) {
      shape.sizes.push_back(-1);
      for (const char c : named ? dim : std::string_view()) {
        if (c != '"' && c != '\'') shape.names.back() += c;
      }
      continue;
    }
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(dim.data(), dim.data() + dim.size(), value);
    valid = valid && error == std::errc() && end == dim.data() + dim.size() && value >= 0 &&
            value <= std::numeric_limits<std::int32_t>::max();
    shape.sizes.push_back(value);
  }
  if (!valid) {
    wrong(option, text, "of the form name:[1,3,224,224]",
          dims == Dims::Fixed ? "dimensions are whole numbers from 0 to 2147483647"
                              : "dimensions are whole numbers from 0 to 2147483647, -1 or a name");
  }
  return {name, shape};
}

}  // namespace

std::pair<std::string, OpenShape> parse_open_shape(std::string_view option, const std::string& text) {
  return parse_shape(option, text, Dims::MayBeOpen);
}

std::pair<std::string, Shape> parse_input_shape(std::string_view option, const std::string& text, Dims dims) {
  auto [name, shape] = parse_shape(option, text, dims);
  return {std::move(name), std::move(shape.sizes)};
}

std::vector<std::pair<std::string, Shape>> parse_input_shapes(std::string_view option,
                                                              const std::vector<std::string>& texts, Dims dims) {
  std::vector<std::pair<std::string, Shape>> shapes;
  for (const std::string& text : texts) {
    std::string part;
    bool quoted = false, bracket = false, named = false;
    const auto end = [&] {
      shapes.push_back(parse_input_shape(option, part, dims));
      part.clear();
      named = false;
    };
    for (const char c : text) {
      quoted = quoted != (c == '\'');
      if (!quoted) bracket = c == '[' || (bracket && c != ']');
      named = named || (!quoted && c == ':');
      if (c == ',' && !quoted && !bracket && named) {
        end();
      } else if (c != '\'' || bracket) {  // of a dimension the quotes say that it is a name
        part += c;
      }
    }
    end();
  }
  return shapes;
}

std::vector<float> parse_channels(std::string_view option, const std::vector<std::string>& texts) {
  std::vector<float> values;
  for (const std::string& text : texts) {
    for (const std::string_view part : split(text, ',')) {
      const std::optional<double> value = number_in(part);
      if (!value)
        wrong(option, text, "a finite number or a list of three",
              "for example " + std::string(option) + " 0.485,0.456,0.406");
      values.push_back(static_cast<float>(*value));
    }
  }
  if (!values.empty() && values.size() != 1 && values.size() != 3) {
    throw Error(ErrorCode::BadValue, fmt::format("{}: expected one value or three, got {}", option, values.size()));
  }
  return values;
}

}  // namespace vernier::cli
