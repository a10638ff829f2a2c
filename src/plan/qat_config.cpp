#include "plan/qat_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "base/format_definition.h"
#include "base/quote.h"
#include "base/text.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {
namespace {

/// ModelOpt quantizes to it in training. Of E5M2 it has the blocks alone.
bool trains(Format format) {
  const FormatDefinition& definition = definition_of(format);
  const bool dynamic_integers = definition.integers.highest > 0 && definition.dynamic;
  return definition.scaled && !dynamic_integers && format != Format::Float8E5M2;
}

constexpr const char* kFormats = "‹low› int8, float8e4m3fn, int4, nvfp4, mxfp8 or mxfp4";

/// What a quantizer of ModelOpt is set to.
struct Quantizer {
  std::string attributes;     // of the Python dictionary
  std::optional<float> amax;  // absent: it has none, or ModelOpt takes it from the values
  std::string why_not;        // it cannot be said; nothing else is filled then
};

/// Zero points in the middle of the codes are those of signed integers.
bool in_the_middle(const QuantParams& grid) {
  const CodeRange codes = definition_of(grid.format).integers;
  return codes.lowest == 0 &&
         std::ranges::all_of(grid.zero_point, [&](std::int32_t zero) { return zero == codes.highest / 2 + 1; }) &&
         !grid.zero_point.empty();
}

std::string bits_text(const FormatDefinition& definition, int bits) {
  if (definition.floats == nullptr) return fmt::format("\"num_bits\": {}", bits);
  const int mantissa = definition.floats->mantissa_bits;
  return fmt::format("\"num_bits\": ({}, {})", bits - 1 - mantissa, mantissa);
}

std::string block_text(const FormatDefinition& definition, int axis, int block) {
  const char* scales = definition.block_scale == BlockScale::E4M3   ? ", \"type\": \"dynamic\", \"scale_bits\": (4, 3)"
                       : definition.block_scale == BlockScale::E8M0 ? ", \"type\": \"dynamic\", \"scale_bits\": (8, 0)"
                                                                    : "";
  return fmt::format(", \"block_sizes\": {{{}: {}{}}}", axis, block, scales);
}

Quantizer quantizer(const QuantParams& grid, const Layer& layer, bool weight, const QuantizationRules& rules) {
  const FormatDefinition& definition = definition_of(grid.format);
  const bool symmetric = in_the_middle(grid);
  const bool unsigned_codes = definition.integers.highest > 0 && definition.integers.lowest == 0 && !symmetric;
  if (!symmetric && std::ranges::any_of(grid.zero_point, [](std::int32_t zero) { return zero != 0; }))
    return {{}, {}, "ModelOpt has no zero points"};
  const bool conv = layer.op_type == "Conv" || layer.op_type == "ConvTranspose";
  if (conv && definition.block > 0)
    return {{}, {}, "ModelOpt's blocks of floats lie along the last dimension, those of a convolution along channels"};
  const bool seven = weight && rules.reduce_range && grid.format == Format::Int8;
  Quantizer result{bits_text(definition, seven ? 7 : definition.bits), {}, {}};
  if (grid.block > 0) {
    result.attributes += block_text(definition, conv ? grid.axis : -1, grid.block);
  } else if (weight && grid.axis >= 0) {
    // Torch has output channels first; ONNX has those of MatMul last, and both have those of ConvTranspose second.
    result.attributes += fmt::format(", \"axis\": {}", layer.op_type == "ConvTranspose" ? 1 : 0);
  }
  if (unsigned_codes) result.attributes += ", \"unsigned\": True";
  if (grid.lowest_code != 0 && grid.lowest_code == -definition.integers.highest)
    result.attributes += ", \"narrow_range\": True";
  if (weight || !is_calibrated(definition)) return result;
  double codes = symmetric ? definition.integers.highest / 2 : definition.integers.highest;
  if (definition.floats != nullptr) codes = static_cast<double>(definition.floats->max_finite);
  const double of_blocks = definition.block_scale == BlockScale::E4M3 ? 448 : 1;
  result.amax = static_cast<float>(grid.scale.front() * codes * of_blocks);
  return result;
}

/// `path` as a pattern of fnmatch that matches it alone.
std::string literal(const std::string& path) {
  std::string pattern;
  for (const char c : path) pattern += c == '*' || c == '?' || c == '[' ? std::string{'[', c, ']'} : std::string{c};
  return pattern;
}

struct Module {
  Format format = Format::Float32;
  std::vector<std::string> layers;
  std::optional<Quantizer> weight, input;
};

/// A layer in a low format; `why_not` gets the reason where ModelOpt cannot say it.
Module module_of(const Plan& plan, const Layer& layer, Format format, std::string& why_not) {
  Module module{format, {printable(layer.name)}, {}, {}};
  const auto read = [&](const std::vector<std::string>& tensors, bool weight, std::optional<Quantizer>& into) {
    const QuantParams* grid = nullptr;
    for (const std::string& tensor : tensors) {
      if (grid == nullptr) grid = plan.grid(tensor, format);
    }
    if (grid == nullptr) return;
    into = quantizer(*grid, layer, weight, plan.rules);
    if (!into->why_not.empty()) why_not = into->why_not;
  };
  read(layer.weights, /*weight=*/true, module.weight);
  if (!plan.weights_alone(format)) read(layer.inputs, /*weight=*/false, module.input);
  if (!module.weight) why_not = "its weight has no scale";
  return module;
}

void join(Module& module, Module other) {
  if (bits_of(other.format) > bits_of(module.format)) std::swap(module, other);
  if (other.format == module.format && module.input && other.input && other.input->amax)
    module.input->amax = std::max(module.input->amax, other.input->amax);
  module.layers.insert(module.layers.end(), other.layers.begin(), other.layers.end());
}

std::string entry(const std::string& path, const char* kind, const Quantizer& quantizer) {
  const std::string amax = quantizer.amax ? fmt::format(", \"constant_amax\": {}", *quantizer.amax) : "";
  return fmt::format("        {{\"quantizer_name\": {}, \"cfg\": {{{}{}}}}},\n",
                     python_quote(fmt::format("{}.{}_quantizer", literal(path), kind)), quantizer.attributes, amax);
}

std::string entries(const std::string& path, const Module& module) {
  std::string text = fmt::format("        # {}: {}\n", format_title(module.format), fmt::join(module.layers, ", "));
  if (!needs_scale(module.format)) {
    return text + fmt::format("        {{\"quantizer_name\": {}, \"enable\": False}},\n",
                              python_quote(literal(path) + ".*_quantizer"));
  }
  text += entry(path, "weight", *module.weight);
  return module.input ? text + entry(path, "input", *module.input) : text;
}

}  // namespace

std::optional<Error> refusal_of_qat(const PrecisionOptions& precision, const TorchModules& modules) {
  const auto untrained =
      std::ranges::find_if(precision.low, [](Format format) { return needs_scale(format) && !trains(format); });
  if (untrained != precision.low.end()) {
    return Error(ErrorCode::BadValue, fmt::format("‹qat›: ModelOpt cannot train in {}", format_title(*untrained)),
                 kFormats);
  }
  if (std::ranges::none_of(precision.low, trains)) {
    return Error(ErrorCode::WithoutEffect, "‹qat›: no low format has a scale to train with", kFormats);
  }
  const QuantizationRules& rules = precision.rules;
  const bool symmetric = rules.symmetric_activations.value_or(precision.target == Target::TensorRt);
  const auto has_zero_points = [&](Format format) {
    const FormatDefinition& definition = definition_of(format);
    return format == Format::UInt4 ||
           (definition.integers.highest > 0 && definition.bits >= 8 && !rules.weights_only && !symmetric);
  };
  if (std::ranges::any_of(precision.low, has_zero_points)) {
    return Error(ErrorCode::BadValue, "‹qat›: ModelOpt's quantizers have no zero points",
                 "‹target› tensorrt, or ‹low› int4 in the place of uint4");
  }
  if (!modules.paths.empty()) return std::nullopt;
  std::string why = "it has no layer with a weight";
  if (!modules.why_not.empty()) {
    const auto& [layer, reason] = *modules.why_not.begin();
    why = fmt::format("of layer '{}', {}", printable(layer), reason);
  }
  return Error(ErrorCode::BadValue, fmt::format("‹qat›: the file does not name the torch modules: {}", why),
               "torch.onnx.export(..., dynamo=True) writes their paths");
}

QatConfig qat_config(const Plan& plan, const std::vector<Layer>& layers, const TorchModules& modules) {
  QatConfig config;
  std::vector<std::string> order;
  std::map<std::string, Module> found;
  const PlannedFormats formats(plan);
  for (const Layer& layer : layers) {
    Format format = formats.of(layer.name);
    const auto path = modules.paths.find(layer.name);
    const auto no_path = modules.why_not.find(layer.name);
    std::string why_not = no_path != modules.why_not.end() ? no_path->second
                          : path == modules.paths.end()    ? fmt::format("qat.py has no entries for {}", layer.op_type)
                                                           : "";
    Module module{format, {printable(layer.name)}, {}, {}};
    if (needs_scale(format) && path != modules.paths.end()) module = module_of(plan, layer, format, why_not);
    if (needs_scale(format) && !why_not.empty()) {
      config.left_out.push_back(fmt::format("{}: {}", printable(layer.name), why_not));
      module = {plan.high, {printable(layer.name)}, {}, {}};
    }
    if (path == modules.paths.end()) continue;
    const auto [place, fresh] = found.try_emplace(path->second, module);
    if (fresh) {
      order.push_back(path->second);
    } else {
      join(place->second, std::move(module));
    }
  }
  std::string body;
  for (const std::string& path : order) {
    const Module& module = found.at(path);
    (needs_scale(module.format) ? config.quantized : config.kept) += 1;
    body += entries(path, module);
  }
  config.text = fmt::format(
      "# Quantization-aware training with NVIDIA ModelOpt, written by Vernier.\n"
      "# Model: {}\n"
      "#\n"
      "#   from qat import CONFIG\n"
      "#   model = modelopt.torch.quantization.quantize(model, CONFIG, forward_loop)\n"
      "#\n"
      "# constant_amax is the range that Vernier calibrated. ModelOpt takes the scales of weights from the weights.\n"
      "CONFIG = {{\n"
      "    \"quant_cfg\": [\n"
      "        {{\"quantizer_name\": \"*\", \"enable\": False}},\n"
      "{}"
      "    ],\n"
      "    \"algorithm\": \"max\",\n"
      "}}\n",
      printable(plan.model_file), body);
  if (!config.left_out.empty()) config.text += "# In a low format in Vernier, and float in ModelOpt:\n";
  for (const std::string& layer : config.left_out) config.text += fmt::format("#   {}\n", layer);
  return config;
}

}  // namespace vernier
