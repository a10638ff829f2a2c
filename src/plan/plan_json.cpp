// The plan's file. Written line by line (one line a layer, one line a tensor), because people read it with diff.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "numerics/grid.h"
#include "numerics/tensor_grid.h"
#include "plan/plan.h"
#include "plan/quoted.h"
#include "vernier/error.h"
#include "vernier/format.h"
#include "vernier/quantization.h"

namespace vernier {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;
constexpr std::string_view kHexDigits = "0123456789abcdef";

/// The shortest decimal that reads back as the same float through a double, which is what JSON readers hold.
std::string number_text(float value) {
  std::string text = fmt::format("{}", value);
  const bool same = static_cast<float>(std::strtod(text.c_str(), nullptr)) == value;
  return same ? text : fmt::format("{}", static_cast<double>(value));
}

std::string tensor_line(const QuantParams& params) {
  std::vector<std::string> scales;
  for (const float scale : params.scale) scales.push_back(number_text(scale));
  return fmt::format(R"({{"format": "{}", "scale": [{}], "zero_point": [{}], "axis": {}, "lowest_code": {}{}}})",
                     format_name(params.format), fmt::join(scales, ", "), fmt::join(params.zero_point, ", "),
                     params.axis, params.lowest_code,
                     params.block > 0 ? fmt::format(", \"block\": {}", params.block) : "");
}

/// Two hexadecimal digits a code; empty when the values are not all on the grid. A tenth of what the values would take.
std::string codes_text(const RepairedConstant& constant, const QuantParams& grid) {
  if (!scales_fit(grid, constant.shape) || constant.values.empty()) return {};
  const std::vector<std::byte> codes = encode_tensor(grid, constant.shape, constant.values);
  if (codes.size() != constant.values.size()) return {};
  if (decode_tensor(grid, constant.shape, codes) != constant.values) return {};
  std::string text;
  for (const std::byte code : codes) {
    for (const unsigned shift : {4U, 0U}) text += kHexDigits[std::to_integer<unsigned>(code) >> shift & 15U];
  }
  return text;
}

/// `grid`: the plan's of the same name; null: none.
std::string constant_line(const RepairedConstant& constant, const QuantParams* grid) {
  const std::string codes = grid == nullptr ? std::string() : codes_text(constant, *grid);
  if (!codes.empty()) {
    return fmt::format(R"({{"layer": {}, "shape": [{}], "codes": "{}"}})", quoted(constant.layer),
                       fmt::join(constant.shape, ", "), codes);
  }
  std::vector<std::string> values;
  for (const float value : constant.values) values.push_back(number_text(value));
  return fmt::format(R"({{"layer": {}, "shape": [{}], "values": [{}]}})", quoted(constant.layer),
                     fmt::join(constant.shape, ", "), fmt::join(values, ", "));
}

/// The field of the rules, empty when they are the usual ones.
std::string rules_line(const QuantizationRules& rules) {
  if (rules == QuantizationRules{}) return {};
  Json fields = {{"weights_only", rules.weights_only},
                 {"block_size", rules.block_size},
                 {"weights_per_channel", rules.weights_per_channel},
                 {"paired_weights", rules.paired_weights}};
  if (rules.symmetric_activations) fields["symmetric_activations"] = *rules.symmetric_activations;
  if (rules.integer_bias) fields["integer_bias"] = *rules.integer_bias;
  return fmt::format("  \"rules\": {},\n", fields.dump());
}

/// One object of the file, its place for messages ("plan.json: tensors.x"), and the check that nothing is left unread.
class Fields {
 public:
  Fields(const Json& object, std::string place, std::set<std::string> known)
      : object_(object), place_(std::move(place)) {
    if (!object_.is_object()) fail(fmt::format("expected an object, found {}", object_.type_name()));
    const std::vector<std::string> names(known.begin(), known.end());
    for (const auto& [key, value] : object_.items()) {
      if (known.contains(key)) continue;
      const std::vector<std::string> near = nearest_names(key, names);
      throw Error(ErrorKind::Input, fmt::format("{}: unknown field '{}'", place_, printable(key)),
                  near.empty() ? fmt::format("fields are {}", list_some(names, names.size()))
                               : fmt::format("did you mean '{}'?", near.front()));
    }
  }

  [[noreturn]] void fail(const std::string& why) const {
    throw Error(ErrorKind::Input, fmt::format("{}: {}", place_, why));
  }

  const Json& at(const std::string& key) const {
    const auto found = object_.find(key);
    if (found == object_.end()) fail(fmt::format("field '{}' is missing", key));
    return *found;
  }

  std::string text(const std::string& key) const {
    const Json& value = at(key);
    if (!value.is_string()) fail(fmt::format("field '{}' must be a string, found {}", key, value.type_name()));
    return value.get<std::string>();
  }

  std::int64_t integer(const std::string& key, std::int64_t low, std::int64_t high) const {
    return checked_integer(at(key), key, low, high);
  }

  std::int64_t checked_integer(const Json& value, const std::string& key, std::int64_t low, std::int64_t high) const {
    if (!value.is_number_integer()) fail(fmt::format("field '{}' must be an integer, found {}", key, value.dump()));
    const bool huge = value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(high);
    const std::int64_t number = huge ? high : value.get<std::int64_t>();
    if (huge || number < low || number > high) {
      fail(fmt::format("field '{}' is {}, allowed are {} to {}", key, value.dump(), low, high));
    }
    return number;
  }

  Format format(const std::string& key) const {
    const std::string name = text(key);
    const std::optional<Format> format = parse_format(name);
    if (!format) fail(fmt::format("field '{}' is '{}', which is no format", key, printable(name)));
    return *format;
  }

  bool has(const std::string& key) const { return object_.contains(key); }

  bool flag(const std::string& key) const {
    const Json& value = at(key);
    if (!value.is_boolean()) fail(fmt::format("field '{}' must be true or false, found {}", key, value.dump()));
    return value.get<bool>();
  }

  const Json& array(const std::string& key) const {
    const Json& value = at(key);
    if (!value.is_array()) fail(fmt::format("field '{}' must be a list, found {}", key, value.type_name()));
    return value;
  }

 private:
  const Json& object_;
  std::string place_;
};

QuantParams read_tensor(const Json& object, const std::string& place) {
  const Fields fields(object, place, {"format", "scale", "zero_point", "axis", "lowest_code", "block"});
  QuantParams params;
  params.format = fields.format("format");
  if (!needs_scale(params.format)) {
    fields.fail(fmt::format("field 'format' is {}, which takes no scale", format_name(params.format)));
  }
  for (const Json& value : fields.array("scale")) {
    const float scale = value.is_number() ? static_cast<float>(value.get<double>()) : 0.0F;
    if (!(scale > 0.0F) || !std::isfinite(scale)) {
      fields.fail(fmt::format("field 'scale' holds {}, which is no positive finite number", value.dump()));
    }
    params.scale.push_back(scale);
  }
  if (params.scale.empty()) fields.fail("field 'scale' is empty");
  const CodeRange codes = code_range(params.format);  // of float8 {0, 0}, its only zero point
  for (const Json& value : fields.array("zero_point")) {
    params.zero_point.push_back(
        static_cast<std::int32_t>(fields.checked_integer(value, "zero_point", codes.lowest, codes.highest)));
  }
  if (!params.zero_point.empty() && params.zero_point.size() != params.scale.size()) {
    fields.fail(
        fmt::format("field 'zero_point' has {} values, 'scale' has {}", params.zero_point.size(), params.scale.size()));
  }
  params.axis = static_cast<int>(fields.integer("axis", -1, 63));
  if (params.scale.size() > 1 && params.axis < 0) {
    fields.fail(fmt::format("field 'axis' is -1, but there are {} scales", params.scale.size()));
  }
  params.lowest_code = static_cast<std::int32_t>(fields.integer("lowest_code", codes.lowest, codes.highest));
  if (fields.has("block")) params.block = static_cast<int>(fields.integer("block", 1, std::int64_t{1} << 30));
  if (params.block > 0 && params.axis < 0) fields.fail("field 'axis' is -1, but there are blocks along it");
  return params;
}

QuantizationRules read_rules(const Json& object, const std::string& place) {
  const Fields fields(
      object, place,
      {"weights_only", "block_size", "weights_per_channel", "paired_weights", "symmetric_activations", "integer_bias"});
  QuantizationRules rules;
  rules.weights_only = fields.flag("weights_only");
  rules.block_size = static_cast<int>(fields.integer("block_size", 1, std::int64_t{1} << 30));
  rules.weights_per_channel = fields.flag("weights_per_channel");
  rules.paired_weights = fields.flag("paired_weights");
  if (fields.has("symmetric_activations")) rules.symmetric_activations = fields.flag("symmetric_activations");
  if (fields.has("integer_bias")) rules.integer_bias = fields.flag("integer_bias");
  return rules;
}

void read_values(const Fields& fields, RepairedConstant& constant) {
  for (const Json& value : fields.array("values")) {
    const float number = value.is_number() ? static_cast<float>(value.get<double>()) : std::nanf("");
    if (!std::isfinite(number)) fields.fail(fmt::format("field 'values' holds {}, which is no number", value.dump()));
    constant.values.push_back(number);
  }
}

std::vector<std::byte> read_codes(const Fields& fields) {
  const std::string text = fields.text("codes");
  std::vector<std::byte> codes(text.size() / 2);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t digit = kHexDigits.find(text[i]);
    if (digit == std::string_view::npos) fields.fail("field 'codes' is no list of bytes in hexadecimal digits");
    if (i / 2 < codes.size()) codes[i / 2] = codes[i / 2] << 4U | static_cast<std::byte>(digit);
  }
  if (text.size() % 2 != 0) fields.fail("field 'codes' ends within a byte");
  return codes;
}

/// `grid`: the plan's of the same name, which codes are meant on; null: none.
RepairedConstant read_constant(const Json& object, const std::string& place, const QuantParams* grid) {
  const Fields fields(object, place, {"layer", "shape", "values", "codes"});
  const bool coded = fields.has("codes");
  if (coded && fields.has("values")) fields.fail("has both 'values' and 'codes'");
  RepairedConstant constant;
  constant.layer = fields.text("layer");
  for (const Json& value : fields.array("shape")) {
    constant.shape.push_back(fields.checked_integer(value, "shape", 0, std::int64_t{1} << 40));
  }
  if (!coded) read_values(fields, constant);
  std::int64_t count = 1;
  for (const std::int64_t dim : constant.shape) {
    if (dim > 0 && count > (std::int64_t{1} << 40) / dim) fields.fail("field 'shape' is too large");
    count *= dim;
  }
  const std::vector<std::byte> codes = coded ? read_codes(fields) : std::vector<std::byte>();
  const std::size_t found = coded ? codes.size() : constant.values.size();
  if (!std::cmp_equal(count, found)) {
    fields.fail(fmt::format("field '{}' has {} values, 'shape' asks for {}", coded ? "codes" : "values", found, count));
  }
  if (!coded) return constant;
  if (grid == nullptr || !scales_fit(*grid, constant.shape)) {
    fields.fail("field 'codes' has no grid under 'tensors' that fits its shape");
  }
  constant.values = decode_tensor(*grid, constant.shape, codes);
  const bool finite = std::ranges::all_of(constant.values, [](float value) { return std::isfinite(value); });
  if (!finite || encode_tensor(*grid, constant.shape, constant.values) != codes) {
    fields.fail("field 'codes' holds codes that the grid does not have");
  }
  return constant;
}

PlannedLayer read_layer(const Json& object, const std::string& place) {
  const Fields fields(object, place, {"name", "format"});
  return {fields.text("name"), fields.format("format")};
}

Json parse(const std::string& text, const std::string& where) {
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& failure) {
    throw Error(ErrorKind::Input, fmt::format("{}: not JSON, at byte {}", where, failure.byte));
  }
}

}  // namespace

std::string plan_to_json(const Plan& plan) {
  std::string text = fmt::format(
      "{{\n  \"version\": {},\n  \"model_file\": {},\n  \"model_sha256\": {},\n  \"scheme\": {},\n  \"target\": {},\n"
      "  \"high\": \"{}\",\n{}  \"layers\": [",
      kVersion, quoted(plan.model_file), quoted(plan.model_sha256), quoted(plan.scheme), quoted(plan.target),
      format_name(plan.high), rules_line(plan.rules));
  std::string separator = "\n";
  for (const PlannedLayer& layer : plan.layers) {
    text += fmt::format("{}    {{\"name\": {}, \"format\": \"{}\"}}", separator, quoted(layer.name),
                        format_name(layer.format));
    separator = ",\n";
  }
  text += plan.layers.empty() ? "],\n  \"tensors\": {" : "\n  ],\n  \"tensors\": {";
  separator = "\n";
  for (const auto& [name, params] : plan.tensors) {
    text += fmt::format("{}    {}: {}", separator, quoted(name), tensor_line(params));
    separator = ",\n";
  }
  text += plan.tensors.empty() ? "}" : "\n  }";
  if (!plan.constants.empty()) {
    text += ",\n  \"constants\": {";
    separator = "\n";
    for (const auto& [name, constant] : plan.constants) {
      const auto grid = plan.tensors.find(name);
      text += fmt::format("{}    {}: {}", separator, quoted(name),
                          constant_line(constant, grid == plan.tensors.end() ? nullptr : &grid->second));
      separator = ",\n";
    }
    text += "\n  }";
  }
  text += "\n}\n";
  return text;
}

Plan plan_from_json(const std::string& text, const std::string& where) {
  const Json file = parse(text, where);
  const Fields fields(
      file, where,
      {"version", "model_file", "model_sha256", "scheme", "target", "high", "rules", "layers", "tensors", "constants"});
  fields.integer("version", kVersion, kVersion);
  Plan plan;
  plan.model_file = fields.text("model_file");
  plan.model_sha256 = fields.text("model_sha256");
  plan.scheme = fields.text("scheme");
  plan.target = fields.text("target");
  plan.high = fields.format("high");
  if (fields.has("rules")) plan.rules = read_rules(fields.at("rules"), where + ": rules");
  std::set<std::string> names;
  for (const Json& layer : fields.array("layers")) {
    plan.layers.push_back(read_layer(layer, fmt::format("{}: layers[{}]", where, plan.layers.size())));
    if (!names.insert(plan.layers.back().name).second) {
      fields.fail(fmt::format("layer '{}' is listed twice", printable(plan.layers.back().name)));
    }
  }
  const Json& tensors = fields.at("tensors");
  if (!tensors.is_object())
    fields.fail(fmt::format("field 'tensors' must be an object, found {}", tensors.type_name()));
  for (const auto& [name, params] : tensors.items()) {
    plan.tensors.emplace(name, read_tensor(params, fmt::format("{}: tensors.{}", where, printable(name))));
  }
  if (fields.has("constants")) {
    const Json& constants = fields.at("constants");
    if (!constants.is_object()) fields.fail("field 'constants' must be an object");
    for (const auto& [name, constant] : constants.items()) {
      const auto grid = plan.tensors.find(name);
      const std::string place = fmt::format("{}: constants.{}", where, printable(name));
      plan.constants.emplace(name,
                             read_constant(constant, place, grid == plan.tensors.end() ? nullptr : &grid->second));
    }
  }
  return plan;
}

}  // namespace vernier
