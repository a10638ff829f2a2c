#include "plan/overrides.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "json/json.h"
#include "numerics/grid.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/format.h"

namespace vernier {
namespace {

[[noreturn]] void fail(const std::string& place, const std::string& why, const std::string& hint = {}) {
  throw Error(ErrorCode::Ranges, fmt::format("{}: {}", place, why), hint);
}

double number(const Json& entry, const char* key, const std::string& place) {
  const Json& value = entry.at(key);
  if (!value.is_number() || !std::isfinite(value.number())) {
    fail(place, fmt::format("'{}' is {}, which is not a finite number", key, json_text(value)));
  }
  return value.number();
}

struct Entry {
  float scale = 0;
  std::int32_t zero_point = 0;
};

Entry from_range(const Json& entry, Format format, bool symmetric, const std::string& place) {
  if (!entry.contains("rmin") || !entry.contains("rmax")) fail(place, "'rmin' and 'rmax' belong together");
  const auto low = static_cast<float>(number(entry, "rmin", place));
  const auto high = static_cast<float>(number(entry, "rmax", place));
  if (low > high) fail(place, fmt::format("'rmin' {} is above 'rmax' {}", low, high));
  const float largest = std::max(std::abs(low), std::abs(high));
  if (is_unsigned(format)) {
    const QuantParams params =
        symmetric ? asymmetric_params(-largest, largest, format) : asymmetric_params(low, high, format);
    return {params.scale.front(), params.zero_point.front()};
  }
  return {symmetric_params(format, std::vector<float>{largest}, -1).scale.front(), 0};
}

Entry read_entry(const Json& entry, Format format, const std::string& place) {
  if (!entry.is_object()) fail(place, fmt::format("expected an object, found {}", entry.kind_text()));
  for (const auto& [key, value] : entry.members()) {
    const bool known = key == "scale" || key == "zero_point" || key == "rmin" || key == "rmax" || key == "symmetric";
    if (!known) {
      fail(place, fmt::format("'{}' cannot be overridden", printable(key)),
           "scale and zero_point, or rmin and rmax, can; formats of layers with ‹layer-precisions›");
    }
  }
  const bool symmetric = entry.contains("symmetric") && entry.at("symmetric") == Json(true);
  if (!entry.contains("scale")) return from_range(entry, format, symmetric, place);
  if (entry.contains("rmin") || entry.contains("rmax")) fail(place, "a scale and a range: one of them is enough");
  Entry read;
  read.scale = static_cast<float>(number(entry, "scale", place));
  if (const std::string_view defect = scale_defect(read.scale, format); !defect.empty()) {
    fail(place, fmt::format("'scale' {:g} {}", read.scale, defect));
  }
  if (!entry.contains("zero_point")) return read;
  const double zero = number(entry, "zero_point", place);
  const auto [low, high] = code_range(format);
  if (zero != std::floor(zero) || zero < low || zero > high) {
    fail(place,
         fmt::format("'zero_point' is {}, values of {} are from {} to {}", zero, format_name(format), low, high));
  }
  read.zero_point = static_cast<std::int32_t>(zero);
  return read;
}

void apply(QuantParams& params, const Json& value, const std::string& place) {
  if (params.dynamic || definition_of(params.format).block_scale != BlockScale::Chosen) {
    fail(place, fmt::format("{} has the scales of its values", format_name(params.format)));
  }
  std::vector<Entry> entries;
  if (!value.is_array()) {
    entries.assign(params.scale.size(), read_entry(value, params.format, place));
  } else {
    for (const Json& entry : value.items()) {
      entries.push_back(read_entry(entry, params.format, fmt::format("{}[{}]", place, entries.size())));
    }
    if (entries.size() == 1) entries.assign(params.scale.size(), entries.front());
    if (entries.size() != params.scale.size()) {
      fail(place, fmt::format("{} entries, the tensor has {} scales", entries.size(), params.scale.size()));
    }
  }
  std::vector<std::int32_t> zero_points;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    params.scale[i] = entries[i].scale;
    zero_points.push_back(entries[i].zero_point);
  }
  const bool all_zero = std::ranges::all_of(zero_points, [](std::int32_t zero) { return zero == 0; });
  params.zero_point = all_zero && !is_unsigned(params.format) ? std::vector<std::int32_t>{} : zero_points;
}

}  // namespace

void override_tensors(Plan& plan, const std::string& text, const std::string& where) {
  const Json file = parse_json(text, where);
  if (!file.is_object()) fail(where, fmt::format("expected an object, found {}", file.kind_text()));
  for (const auto& [name, value] : file.members()) {
    const std::string place = fmt::format("{}: {}", where, printable(name));
    const auto tensor = plan.tensors.find(name);
    if (tensor == plan.tensors.end()) {
      std::vector<std::string> names;
      for (const auto& [known, params] : plan.tensors) names.push_back(known);
      const std::vector<std::string> near = nearest_names(name, names);
      fail(place, "no such tensor is quantized", near.empty() ? "" : "nearest: " + list_some(near));
    }
    apply(tensor->second, value, place);
    if (plan.target == Target::TensorRt && !tensor->second.zero_point.empty() &&
        tensor->second.format != Format::UInt8) {
      fail(place, "TensorRT knows zero point 0 alone", "‹target› onnxruntime takes others");
    }
  }
}

}  // namespace vernier
