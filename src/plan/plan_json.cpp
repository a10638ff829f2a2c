// The plan's file. One line a layer and one line a tensor, because people read it with diff.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/format_definition.h"
#include "base/text.h"
#include "json/fields.h"
#include "json/schema.h"
#include "model/model.h"
#include "numerics/grid.h"
#include "numerics/tensor_grid.h"
#include "plan/cache_formats.h"
#include "plan/plan.h"
#include "vernier/arithmetic.h"
#include "vernier/error.h"
#include "vernier/format.h"
#include "vernier/quantization.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

constexpr int kVersion = 1;
constexpr std::string_view kHexDigits = "0123456789abcdef";

/// A repaired constant as it stands in the file: codes on the plan's grid of the same name, or values.
struct ConstantEntry {
  std::string layer;
  Shape shape;
  std::optional<std::string> codes;
  std::optional<std::vector<float>> values;
};

struct PlanFile {
  int version = kVersion;
  std::string model_file, model_sha256, scheme;
  Target target = Target::TensorRt;
  Format high = Format::Float32;
  std::optional<QuantizationRules> rules;  // absent: the usual ones
  std::optional<Arithmetic> arithmetic;    // absent: float32 sums
  std::vector<PlannedLayer> layers;
  std::map<std::string, QuantParams> tensors;
  std::map<std::string, std::map<std::string, QuantParams>> other_grids;  // by tensor and format of the layer
  std::map<std::string, ConstantEntry> constants;
};

}  // namespace

template <>
struct Fields<PlannedLayer> {
  using R = PlannedLayer;
  static constexpr auto list = std::tuple{Field{"name", &R::name}, Field{"format", &R::format}};
};

template <>
struct Fields<QuantParams> {
  using R = QuantParams;
  static constexpr bool (*blocked)(const R&) = [](const R& params) { return params.block > 0; };
  static constexpr bool (*two_scales)(const R&) = [](const R& params) { return params.tensor_scale != 0; };
  static constexpr bool (*dynamic)(const R&) = [](const R& params) { return params.dynamic; };
  static constexpr auto list = std::tuple{Field{"format", &R::format},
                                          Field{"scale", &R::scale},
                                          Field{"zero_point", &R::zero_point},
                                          Field{"axis", &R::axis},
                                          Field{"lowest_code", &R::lowest_code},
                                          Field{"block", &R::block, blocked},
                                          Field{"tensor_scale", &R::tensor_scale, two_scales},
                                          Field{"dynamic", &R::dynamic, dynamic}};
};

template <>
struct Fields<QuantizationRules> {
  using R = QuantizationRules;
  static constexpr bool (*narrow)(const R&) = [](const R& rules) { return rules.weight_bits != 8; };
  static constexpr bool (*reduced)(const R&) = [](const R& rules) { return rules.reduce_range; };
  static constexpr bool (*caches)(const R&) = [](const R& rules) { return rules.kv_cache.has_value(); };
  static constexpr auto list = std::tuple{Field{"weights_only", &R::weights_only},
                                          Field{"block_size", &R::block_size},
                                          Field{"weights_per_channel", &R::weights_per_channel},
                                          Field{"paired_weights", &R::paired_weights},
                                          Field{"reduce_range", &R::reduce_range, reduced},
                                          Field{"weight_bits", &R::weight_bits, narrow},
                                          SomeFormats<R>{{"kv_cache", &R::kv_cache, caches}, kCacheFormats},
                                          Field{"symmetric_activations", &R::symmetric_activations},
                                          Field{"integer_bias", &R::integer_bias}};
};

template <>
struct Fields<Arithmetic> {
  using R = Arithmetic;
  static constexpr auto list = std::tuple{Field{"accumulate", &R::accumulate}, Field{"tf32", &R::tf32}};
};

template <>
struct Fields<ConstantEntry> {
  using R = ConstantEntry;
  static constexpr auto list = std::tuple{Field{"layer", &R::layer}, Field{"shape", &R::shape},
                                          Field{"codes", &R::codes}, Field{"values", &R::values}};
};

template <>
struct Fields<PlanFile> {
  using R = PlanFile;
  static constexpr bool (*mixed)(const R&) = [](const R& file) { return !file.other_grids.empty(); };
  static constexpr bool (*repaired)(const R&) = [](const R& file) { return !file.constants.empty(); };
  static constexpr auto list = std::tuple{Field{"version", &R::version},
                                          Field{"model_file", &R::model_file},
                                          Field{"model_sha256", &R::model_sha256},
                                          Field{"scheme", &R::scheme},
                                          Field{"target", &R::target},
                                          Field{"high", &R::high},
                                          Field{"rules", &R::rules},
                                          Field{"arithmetic", &R::arithmetic},
                                          Field{"layers", &R::layers},
                                          Field{"tensors", &R::tensors},
                                          Field{"other_grids", &R::other_grids, mixed},
                                          Field{"constants", &R::constants, repaired}};
};

namespace {

/// Two hexadecimal digits a code; empty when the values are not all on the grid. A tenth of what the values would take.
std::string codes_text(const RepairedConstant& constant, const QuantParams& grid) {
  const Shape& shape = constant.values.shape();
  const std::span<const float> values = constant.values.floats();
  if (!scales_fit(grid, shape) || values.empty()) return {};
  const std::vector<std::byte> codes = encode_tensor(grid, shape, values);
  if (codes.size() != values.size()) return {};
  if (!std::ranges::equal(decode_tensor(grid, shape, codes), values)) return {};
  std::string text;
  for (const std::byte code : codes) {
    for (const unsigned shift : {4U, 0U}) text += kHexDigits[std::to_integer<unsigned>(code) >> shift & 15U];
  }
  return text;
}

/// `grid`: the plan's of the same name; null: none.
ConstantEntry entry_of(const RepairedConstant& constant, const QuantParams* grid) {
  ConstantEntry entry{constant.layer, constant.values.shape(), {}, {}};
  if (grid != nullptr) entry.codes = codes_text(constant, *grid);
  if (entry.codes && !entry.codes->empty()) return entry;
  entry.codes.reset();
  const std::span<const float> values = constant.values.floats();
  entry.values.emplace(values.begin(), values.end());
  return entry;
}

const QuantParams* grid_of(const std::map<std::string, QuantParams>& tensors, const std::string& name) {
  const auto grid = tensors.find(name);
  return grid == tensors.end() ? nullptr : &grid->second;
}

void require_within(std::int64_t value, std::int64_t low, std::int64_t high, const Place& place) {
  if (value < low || value > high) place.refuse(fmt::format("is {}, allowed are {} to {}", value, low, high));
}

constexpr std::int64_t kLargestBlock = std::int64_t{1} << 30;

/// " (layer 'conv1' reads it)"; empty without a model, or when no layer of it does.
std::string reader_text(const std::string& tensor, const Model* model) {
  std::string text;
  if (model == nullptr) return text;
  for_each_graph(model->proto.graph(), [&](const onnx::GraphProto& graph) {
    for (const onnx::NodeProto& node : graph.node()) {
      if (!text.empty() || std::ranges::find(node.input(), tensor) == node.input().end()) continue;
      text = fmt::format(" (layer '{}' reads it)", printable(node.name()));
    }
  });
  return text;
}

void require_tensor(const std::string& name, const QuantParams& params, const Place& place, const Model* model) {
  if (!needs_scale(params.format)) {
    place.at("format").refuse(fmt::format("is {}, which takes no scale", format_name(params.format)));
  }
  for (const float scale : params.scale) {
    const std::string_view defect = scale_defect(scale, params.format);
    if (!defect.empty())
      place.at("scale").refuse(fmt::format("holds {:g}, which {}{}", scale, defect, reader_text(name, model)));
  }
  if (params.scale.empty()) place.at("scale").refuse("is empty");
  const CodeRange codes = code_range(params.format);  // of float8 {0, 0}, its only zero point
  for (const std::int32_t zero : params.zero_point)
    require_within(zero, codes.lowest, codes.highest, place.at("zero_point"));
  if (!params.zero_point.empty() && params.zero_point.size() != params.scale.size()) {
    place.at("zero_point")
        .refuse(fmt::format("has {} values, 'scale' has {}", params.zero_point.size(), params.scale.size()));
  }
  require_within(params.axis, -1, 63, place.at("axis"));
  if (params.scale.size() > 1 && params.axis < 0) {
    place.at("axis").refuse(fmt::format("is -1, but there are {} scales", params.scale.size()));
  }
  // All integer values of the format, or the symmetric ones: a typed file has no word for anything else.
  const bool symmetric = codes.lowest < 0 && params.lowest_code == -codes.highest;
  if (params.lowest_code != 0 && params.lowest_code != codes.lowest && !symmetric) {
    place.at("lowest_code")
        .refuse(fmt::format("is {}, allowed are 0, {} and {}{}", params.lowest_code, codes.lowest,
                            codes.lowest < 0 ? -codes.highest : codes.lowest, reader_text(name, model)));
  }
  require_within(params.block, 0, kLargestBlock, place.at("block"));
  const FormatDefinition& definition = definition_of(params.format);
  if (params.dynamic && (!definition.dynamic || params.scale.size() != 1 || params.block != definition.block)) {
    place.at("dynamic").refuse(fmt::format("does not fit {} with {} scales in blocks of {}", definition.name,
                                           params.scale.size(), params.block));
  }
  const bool stored_with_tensor = definition.block_scale == BlockScale::E4M3 && !params.dynamic;
  if (stored_with_tensor ? !is_usable_scale(params.tensor_scale) : params.tensor_scale != 0) {
    place.at("tensor_scale").refuse(fmt::format("is {:g}", params.tensor_scale));
  }
  if (params.block > 0 && params.axis < 0 && !params.dynamic)
    place.at("axis").refuse("is -1, but there are blocks along it");
}

/// Of the format's activations: as many bits, and integers or floats like it.
bool is_grid_of(Format grid, Format layer) {
  const FormatDefinition &one = definition_of(grid), &other = definition_of(layer);
  return one.bits == other.bits && (one.floats == nullptr) == (other.floats == nullptr);
}

/// An activation is rounded to its grid, whatever format a layer that reads it is said to have.
void require_grids_of_layers(const PlanFile& file, const Place& tensors, const Model& model) {
  std::map<std::string_view, Format> planned;
  for (const PlannedLayer& layer : file.layers) {
    if (needs_scale(layer.format)) planned.emplace(layer.name, layer.format);
  }
  std::map<std::string, std::string> other;  // a layer of another format that reads the tensor
  std::set<std::string> fitting;
  for_each_graph(model.proto.graph(), [&](const onnx::GraphProto& graph) {
    for (const onnx::NodeProto& node : graph.node()) {
      const auto layer = planned.find(node.name());
      if (layer == planned.end()) continue;
      for (const std::string& input : node.input()) {
        const auto grid = file.tensors.find(input);
        if (grid == file.tensors.end() || is_initializer(model, input)) continue;
        const auto others = file.other_grids.find(input);
        const auto fits = [&](const auto& named) { return is_grid_of(named.second.format, layer->second); };
        const bool fits_another = others != file.other_grids.end() && std::ranges::any_of(others->second, fits);
        if (fits_another || is_grid_of(grid->second.format, layer->second)) {
          fitting.insert(input);
        } else {
          other.emplace(input, node.name());
        }
      }
    }
  });
  for (const auto& [tensor, layer] : other) {
    if (fitting.contains(tensor)) continue;
    tensors.at(tensor).at("format").refuse(fmt::format("is {}, but layer '{}', which reads it, is in {}",
                                                       format_name(file.tensors.at(tensor).format), printable(layer),
                                                       format_name(planned.at(layer))));
  }
}

std::vector<std::byte> read_codes(const std::string& text, const Place& place) {
  std::vector<std::byte> codes(text.size() / 2);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t digit = kHexDigits.find(text[i]);
    if (digit == std::string_view::npos) place.refuse("is not a list of bytes in hexadecimal digits");
    if (i / 2 < codes.size()) codes[i / 2] = codes[i / 2] << 4U | static_cast<std::byte>(digit);
  }
  if (text.size() % 2 != 0) place.refuse("ends within a byte");
  return codes;
}

/// `grid`: the plan's of the same name, which codes are meant on; null: none.
RepairedConstant constant_of(ConstantEntry entry, const Place& place, const QuantParams* grid) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  if (entry.codes && entry.values) place.refuse("has both 'values' and 'codes'");
  if (!entry.codes && !entry.values) place.at("values").refuse("is missing");
  std::int64_t count = 1;
  for (const std::int64_t dim : entry.shape) {
    require_within(dim, 0, kMost, place.at("shape"));
    if (dim > 0 && count > kMost / dim) place.at("shape").refuse("is too large");
    count *= dim;
  }
  const Place from = place.at(entry.codes ? "codes" : "values");
  std::vector<float> values = entry.values ? std::move(*entry.values) : std::vector<float>();
  const std::vector<std::byte> codes = entry.codes ? read_codes(*entry.codes, from) : std::vector<std::byte>();
  const std::size_t found = entry.codes ? codes.size() : values.size();
  if (!std::cmp_equal(count, found)) from.refuse(fmt::format("has {} values, 'shape' asks for {}", found, count));
  if (entry.codes) {
    if (grid == nullptr || !scales_fit(*grid, entry.shape)) {
      from.refuse("has no grid under 'tensors' that fits its shape");
    }
    values = decode_tensor(*grid, entry.shape, codes);
  }
  const bool finite = std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
  if (!entry.codes && !finite) from.refuse("holds a value that is not finite");
  if (entry.codes && (!finite || encode_tensor(*grid, entry.shape, values) != codes)) {
    from.refuse("holds values that the format does not have");
  }
  return {std::move(entry.layer), Tensor::of(std::move(entry.shape), values)};
}

}  // namespace

std::string plan_to_json(const Plan& plan) {
  PlanFile file;
  file.model_file = plan.model_file;
  file.model_sha256 = plan.model_sha256;
  file.scheme = plan.scheme;
  file.target = plan.target;
  file.high = plan.high;
  file.layers = plan.layers;
  file.tensors = plan.tensors;
  for (const auto& [tensor, grids] : plan.other_grids) {
    for (const auto& [format, params] : grids) file.other_grids[tensor][std::string(format_name(format))] = params;
  }
  for (const auto& [name, constant] : plan.constants) {
    file.constants.emplace(name, entry_of(constant, grid_of(plan.tensors, name)));
  }
  std::string text = json_text(json_of(file), {.indent = 2, .levels = 2}) + "\n";
  // On one line each: journals know a search by the hash of its plan.
  const auto insert = [&](const char* name, const Json& json) {
    text.insert(text.find("\n  \"layers\": "), fmt::format("\n  \"{}\": {},", name, json_text(json)));
  };
  if (plan.rules != QuantizationRules{}) insert("rules", json_of(plan.rules));
  if (plan.arithmetic != Arithmetic{}) insert("arithmetic", json_of(plan.arithmetic));
  return text;
}

std::string plan_schema() {
  return json_text(SchemaWriter::document<PlanFile>(
                       "plan.json", "The format of every layer and the scale of every tensor, for vernier convert."),
                   kPrettyJson) +
         "\n";
}

Plan plan_from_json(const std::string& text, const std::string& where, const Model* model) {
  const Json json = parse_json(text, where, /*unique_keys=*/true);
  const Place top(where);
  if (const Json* const kind = json.find("kind"); kind != nullptr && kind->is_text()) {
    top.refuse(fmt::format("is a report of '{}', and no plan", printable(kind->text())),
               "the plan is in the same folder: plan.json");
  }
  if (const Json* const version = json.find("version"); version != nullptr && *version != Json(kVersion)) {
    top.at("version").refuse(fmt::format("is {}, this program reads {}", json_text(*version), kVersion));
  }
  PlanFile file;
  read_json(json, top, file);
  std::set<std::string_view> names;
  for (const PlannedLayer& layer : file.layers) {
    if (!names.insert(layer.name).second) {
      top.at("layers").refuse(fmt::format("lists '{}' twice", printable(layer.name)));
    }
  }
  const Place tensors = top.at("tensors");
  for (const auto& [name, params] : file.tensors) require_tensor(name, params, tensors.at(name), model);
  if (model != nullptr) require_grids_of_layers(file, tensors, *model);
  const Place rules = top.at("rules");
  if (file.rules) {
    require_within(file.rules->block_size, 1, kLargestBlock, rules.at("block_size"));
    if (file.rules->weight_bits != 8 && file.rules->weight_bits != 4)
      rules.at("weight_bits").refuse("is neither 8 nor 4");
    const std::optional<Format>& cache = file.rules->kv_cache;
    if (cache && std::ranges::find(kCacheFormats, *cache) == kCacheFormats.end())
      rules.at("kv_cache").refuse(fmt::format("is {}, in which no cache is stored", format_name(*cache)));
  }
  if (file.arithmetic && *file.arithmetic != Arithmetic{} && file.target != Target::TensorRt) {
    top.at("arithmetic").refuse(fmt::format("was measured with TensorRT, the target is {}", word_of(file.target)));
  }
  Plan plan;
  const Place constants = top.at("constants");
  for (auto& [name, entry] : file.constants) {
    plan.constants.emplace(name, constant_of(std::move(entry), constants.at(name), grid_of(file.tensors, name)));
  }
  plan.model_file = std::move(file.model_file);
  plan.model_sha256 = std::move(file.model_sha256);
  plan.scheme = std::move(file.scheme);
  plan.target = file.target;
  plan.high = file.high;
  if (file.rules) plan.rules = *file.rules;
  if (file.arithmetic) plan.arithmetic = *file.arithmetic;
  plan.layers = std::move(file.layers);
  plan.tensors = std::move(file.tensors);
  const Place others = top.at("other_grids");
  for (const auto& [tensor, grids] : file.other_grids) {
    for (const auto& [name, params] : grids) {
      const Place place = others.at(tensor).at(name);
      const std::optional<Format> format = parse_format(name);
      if (!format || !needs_scale(*format)) place.refuse("names no format with a scale");
      require_tensor(tensor, params, place, model);
      plan.other_grids[tensor][*format] = params;
    }
  }
  return plan;
}

}  // namespace vernier
