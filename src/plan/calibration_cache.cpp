#include "plan/calibration_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/utf8.h"
#include "json/json.h"
#include "numerics/grid.h"
#include "numerics/round.h"
#include "vernier/calibration.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/format.h"

namespace vernier {
namespace {

constexpr float kCodes = 127;

/// The absolute maximum whose step is `step`; where float32 has none, one whose step is a unit in the last place off.
float absmax_of_step(float step) {
  const float product = step * kCodes;
  const float above = std::nextafter(product, INFINITY);
  const float below = std::nextafter(product, 0.0F);
  for (const float candidate : {product, above, below}) {
    if (candidate / kCodes == step) return candidate;
  }
  return product;
}

/// Why no scale can be made of a range; empty where one can, also for a tensor of zeros.
std::string_view range_defect(const RangeStats& range) {
  return range.absmax() == 0 ? std::string_view() : scale_defect(range.absmax() / kCodes, Format::Int8);
}

/// As it is written: a range that is too small for a scale is a tensor of zeros, for the plan too.
RangeStats kept_range(const RangeStats& range) {
  return range_defect(range).empty() ? range : RangeStats{.min = 0, .max = 0};
}

void add(CachedRanges& cache, const std::string& name, float low, float high, const std::string& place) {
  if (!std::isfinite(low) || !std::isfinite(high) || low > high) {
    throw Error(ErrorCode::Ranges,
                fmt::format("{}: [{}, {}] of tensor '{}' is not a range", place, low, high, printable(name)));
  }
  const RangeStats range{.min = low, .max = high};
  if (const std::string_view defect = range_defect(range); !defect.empty()) {
    throw Error(ErrorCode::Ranges,
                fmt::format("{}: the range [{:g}, {:g}] of tensor '{}' makes the scale {:g}, which {}", place, low,
                            high, printable(name), range.absmax() / kCodes, defect));
  }
  const auto [known, fresh] = cache.ranges.emplace(name, range);
  if (fresh || known->second == range) return;
  throw Error(ErrorCode::Ranges, fmt::format("{}: tensor '{}' has a second range", place, printable(name)));
}

CachedRanges read_tensorrt(const std::string& text, const std::string& where) {
  CachedRanges cache;
  cache.symmetric = true;
  std::size_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    at = end + 1;
    ++number;
    if (line.ends_with('\r')) line.pop_back();
    if (number == 1) {
      cache.kind = fmt::format("TensorRT cache ({})", printable(line));
      continue;
    }
    if (line.empty()) continue;
    const std::string place = fmt::format("{}: line {}", where, number);
    const std::size_t colon = line.rfind(": ");
    std::uint32_t bits = 0;
    const char* const first = line.data() + (colon == std::string::npos ? line.size() : colon + 2);
    const char* const last = line.data() + line.size();
    const auto [stop, failure] = std::from_chars(first, last, bits, 16);
    if (colon == std::string::npos || first == last || failure != std::errc() || stop != last || last - first > 8) {
      throw Error(ErrorCode::Ranges, fmt::format("{}: '{}' is not NAME: HEX, a step as the hex digits of a float32",
                                                 place, printable(line.substr(0, 80))));
    }
    // The names of ONNX are, and all JSON.
    if (!is_utf8(line)) {
      throw Error(ErrorCode::Ranges, fmt::format("{}: the name '{}' is not UTF-8: no tensor of ONNX has it", place,
                                                 printable(line.substr(0, std::min<std::size_t>(colon, 80)))));
    }
    const auto step = std::bit_cast<float>(bits);
    if (bits == 0) {
      cache.zero_steps.insert(line.substr(0, colon));
      continue;
    }
    // The first digit of every usual step is 1 to 4: fewer than eight are the start of a line that was cut off.
    if (last - first < 8) {
      throw Error(ErrorCode::Ranges,
                  fmt::format("{}: the scale of tensor '{}' is cut off: '{}' has {} of 8 hex digits", place,
                              printable(line.substr(0, colon)), std::string_view(first, last), last - first),
                  "the file is incomplete: copy it again, or calibrate again");
    }
    if (const std::string_view defect = scale_defect(step, Format::Int8); !defect.empty()) {
      throw Error(ErrorCode::Ranges, fmt::format("{}: the scale {:g} of tensor '{}' {}", place, step,
                                                 printable(line.substr(0, colon)), defect));
    }
    const float absmax = std::min(absmax_of_step(step), std::numeric_limits<float>::max());
    add(cache, line.substr(0, colon), -absmax, absmax, place);
  }
  return cache;
}

/// A number as NumPy arrays are written, {"data": 1.5}, {"data": [1.5]}, or bare.
float number_of(const Json& written, const std::string& place) {
  const Json* value = &written;
  if (const Json* const data = value->find("data")) value = data;
  while (value->is_array() && value->size() == 1) value = &value->at(0);
  if (value->is_array()) {
    throw Error(ErrorCode::Ranges,
                fmt::format("{}: {} ranges, one a channel: activations have one a tensor", place, value->size()));
  }
  if (!value->is_number()) {
    throw Error(ErrorCode::Ranges, fmt::format("{}: expected a number, found {}", place, value->kind_text()));
  }
  return static_cast<float>(value->number());
}

void add_from_json(CachedRanges& cache, const Json& tensors, const std::string& where) {
  if (!tensors.is_object()) {
    throw Error(ErrorCode::Ranges,
                fmt::format("{}: ranges by tensor name were expected, found {}", where, tensors.kind_text()));
  }
  constexpr std::array<std::pair<const char*, const char*>, 2> kEnds{{{"lowest", "highest"}, {"min", "max"}}};
  for (const auto& [name, value] : tensors.members()) {
    const std::string place = fmt::format("{}: tensor '{}'", where, printable(name));
    const auto add_ends = [&, &name = name](const Json& first, const Json& second) {
      float low = number_of(first, place);
      float high = number_of(second, place);
      // ONNX Runtime's percentile of a tensor of one value takes its ends from one bin, the wrong way round.
      if (low > high && low - high <= 0.01F * std::max(std::abs(low), std::abs(high))) std::swap(low, high);
      add(cache, name, low, high, place);
    };
    if (value.is_array() && value.size() == 2) {
      add_ends(value.at(0), value.at(1));
      continue;
    }
    const auto ends = std::ranges::find_if(kEnds, [&value = value](const auto& pair) {
      return value.contains(pair.first) && value.contains(pair.second);
    });
    if (ends == kEnds.end()) {
      throw Error(ErrorCode::Ranges, fmt::format("{}: neither [lowest, highest] nor fields of these names", place),
                  "ranges are read from TensorRT's caches, ONNX Runtime's JSON, and what ‹vernier calibrate› writes");
    }
    add_ends(value.at(ends->first), value.at(ends->second));
  }
}

CachedRanges read_ranges(const std::string& text, const std::string& where) {
  const Json json = parse_json(text, where);
  CachedRanges cache;
  if (const Json* const version = json.find("vernier_ranges")) {
    if (*version != Json(1)) {
      throw Error(ErrorCode::Ranges,
                  fmt::format("{}: version {} of ranges, this program reads 1", where, json_text(*version)));
    }
    cache.kind = "ranges of vernier calibrate";
    if (const Json* const sha = json.find("model_sha256"); sha != nullptr && sha->is_text()) {
      cache.model_sha256 = sha->text();
    }
    if (!json.contains("tensors")) throw Error(ErrorCode::Ranges, where + ": field 'tensors' is missing");
    add_from_json(cache, json.at("tensors"), where);
    return cache;
  }
  cache.kind = "ONNX Runtime's ranges";
  const bool whole = json.contains("data") && json.contains("calibration_method");
  if (whole && json.contains("smooth_quant") && json.at("smooth_quant") == Json(true)) {
    throw Error(ErrorCode::Ranges, where + ": these ranges belong to a model that SmoothQuant changed",
                "calibrate this model: ‹vernier calibrate MODEL --data SOURCE›");
  }
  add_from_json(cache, whole ? json.at("data") : json, where);
  return cache;
}

}  // namespace

CachedRanges calibration_cache_from_text(const std::string& text, const std::string& where) {
  CachedRanges cache;
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (text.starts_with("TRT-")) {
    cache = read_tensorrt(text, where);
  } else if (first != std::string::npos && text[first] == '{') {
    cache = read_ranges(text, where);
  } else {
    throw Error(ErrorCode::Ranges, where + ": neither a TensorRT cache (first line TRT-...) nor JSON with ranges",
                "‹vernier calibrate MODEL --data SOURCE -o ranges.json› makes one");
  }
  if (cache.ranges.empty()) {
    throw Error(ErrorCode::Ranges, where + (cache.zero_steps.empty() ? ": holds no range at all"
                                                                     : ": holds no range: every step in it is 0"));
  }
  return cache;
}

void require_cache_of(const CachedRanges& cache, const std::string& where, const std::string& model_sha256,
                      const std::set<std::string>& needed, const std::set<std::string>& known,
                      std::set<std::string>* lacking) {
  std::vector<std::string> missing;
  std::vector<std::string> zero;
  std::set<std::string> absent;
  for (const std::string& name : needed) {
    if (cache.ranges.contains(name)) continue;
    if (!cache.zero_steps.contains(name)) absent.insert(name);
    (cache.zero_steps.contains(name) ? zero : missing).push_back(printable(name));
  }
  std::vector<std::string> foreign;
  for (const auto& [name, range] : cache.ranges) {
    if (!known.contains(name)) foreign.push_back(printable(name));
  }
  const bool other_file = !cache.model_sha256.empty() && cache.model_sha256 != model_sha256;
  if (missing.empty() && !other_file) {
    if (zero.empty()) return;
    throw Error(ErrorCode::Ranges,
                fmt::format("{}: step 0 for {} of {} quantized tensors ({}): they were 0 in every sample of that "
                            "calibration, and such a step has no code for any other value",
                            where, zero.size(), needed.size(), list_some(zero, 3)),
                "calibrate on samples in which they are not, or keep the layers that read them: ‹layer-precisions› "
                "NAME:float32");
  }
  if (lacking != nullptr && !other_file && foreign.empty() && zero.empty() && missing.size() < needed.size()) {
    *lacking = std::move(absent);
    return;
  }
  std::string why;
  if (other_file) {
    why = fmt::format("it was made for the file with sha256 {}..., this one has {}...",
                      printable(cache.model_sha256.substr(0, 12)), model_sha256.substr(0, 12));
  }
  if (!missing.empty()) {
    why += fmt::format("{}{} of {} quantized tensors have no range in it ({})", why.empty() ? "" : "; ", missing.size(),
                       needed.size(), list_some(missing, 3));
  }
  if (!foreign.empty()) {
    why += fmt::format("; {} of its {} are not tensors of this model ({})", foreign.size(), cache.ranges.size(),
                       list_some(foreign, 3));
  }
  throw Error(ErrorCode::OtherModel, fmt::format("{}: {} of another model: {}", where, cache.kind, why),
              "name another file for this model's ranges: this one is left as it is");
}

RangesByTensor merged_ranges(const CachedRanges& there, const std::string& where, RangesByTensor learned, bool alone,
                             const std::string& model_sha256) {
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorCode::FileUnwritable,
                fmt::format("{}: another job wrote this file meanwhile, with {}: it is left as it is", where, what),
                "run again with another file: ‹calibration-cache› FILE");
  };
  if (alone && there.model_sha256 != model_sha256) refuse("ranges of another model");
  // A step may come back a unit in the last place off.
  const auto same = [](float a, float b) { return std::abs(a - b) <= 1e-6F * std::max(std::abs(a), std::abs(b)); };
  for (const auto& [name, range] : there.ranges) {
    const auto [own, fresh] = learned.emplace(name, range);
    if (fresh) continue;
    const RangeStats& mine = own->second;
    const bool agrees =
        there.symmetric ? same(range.absmax(), mine.absmax()) : same(range.min, mine.min) && same(range.max, mine.max);
    if (!agrees) refuse(fmt::format("another range for tensor '{}'", printable(name)));
  }
  return learned;
}

std::string to_tensorrt_cache(const RangesByTensor& ranges) {
  std::string text = "TRT-8601-EntropyCalibration2\n";
  for (const auto& [name, range] : ranges) {
    if (name.find_first_of("\r\n") != std::string::npos) {
      throw Error(ErrorCode::Ranges,
                  fmt::format("tensor '{}': TensorRT's cache is made of lines and cannot hold a name with a line end",
                              printable(name)),
                  "write ranges as JSON: ‹output› ranges.json");
    }
    const float step = symmetric_params(Format::Int8, std::array{range.absmax()}, -1).scale.front();
    text += fmt::format("{}: {:08x}\n", name, std::bit_cast<std::uint32_t>(step));
  }
  return text;
}

// Both hold float32 values as the doubles that readers of JSON make of them.

std::string to_ranges_json(const RangesByTensor& ranges, std::string_view method, const std::string& model_file,
                           const std::string& model_sha256) {
  Json tensors = Json::object();
  for (const auto& [name, observed] : ranges) {
    const RangeStats range = kept_range(observed);
    tensors.add(name, Json::Object{{"min", double{range.min}}, {"max", double{range.max}}});
  }
  const Json file = Json::Object{{"vernier_ranges", 1},
                                 {"model_file", model_file},
                                 {"model_sha256", model_sha256},
                                 {"method", method},
                                 {"tensors", std::move(tensors)}};
  return json_text(file, {.indent = 2, .levels = 2}) + "\n";
}

std::string to_onnxruntime_json(const RangesByTensor& ranges, std::string_view method) {
  const auto array = [](float value) -> Json {
    return Json::Object{{"data", double{value}}, {"dtype", "float32"}, {"CLS", "numpy.array"}};
  };
  Json tensors = Json::object();
  for (const auto& [name, observed] : ranges) {
    const RangeStats range = kept_range(observed);
    tensors.add(name, Json::Object{{"lowest", array(range.min)}, {"highest", array(range.max)}, {"CLS", "TensorData"}});
  }
  const std::string by = fmt::format("CalibrationMethod.{}", method);
  const Json file = Json::Object{{"CLS", "TensorsData"},
                                 {"data", std::move(tensors)},
                                 {"calibration_method", Json::Object{{"CLS", "CalibrationMethod"}, {"value", by}}},
                                 {"smooth_quant", false}};
  return json_text(file, kOneLineJson);
}

}  // namespace vernier
