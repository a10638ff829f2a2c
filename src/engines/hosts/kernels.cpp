#include "engines/hosts/kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "base/text.h"
#include "json/json.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {
namespace {

constexpr std::string_view kNode = "[ONNX Layer: ";

/// What stands in `text` between `from` and the next `to`; empty where either is missing.
std::string_view between(std::string_view text, std::string_view from, std::string_view to) {
  const std::size_t begin = text.find(from);
  if (begin == std::string_view::npos) return {};
  text.remove_prefix(begin + from.size());
  const std::size_t end = text.find(to);
  return end == std::string_view::npos ? std::string_view() : text.substr(0, end);
}

/// "[ONNX Layer: a][ONNX Layer: b]", with or without a separator in between.
std::vector<std::string> nodes_in(std::string_view metadata) {
  std::vector<std::string> nodes;
  for (std::size_t at = metadata.find(kNode); at != std::string_view::npos;) {
    metadata.remove_prefix(at + kNode.size());
    at = metadata.find(kNode);
    std::string_view name = metadata.substr(0, at);
    const std::size_t end = name.rfind(']');  // names may hold brackets themselves
    if (end != std::string_view::npos) name = name.substr(0, end);
    if (std::ranges::find(nodes, name) == nodes.end()) nodes.emplace_back(name);
  }
  return nodes;
}

std::vector<EngineTensor> tensors_in(std::string_view list) {
  constexpr std::string_view kBegin = "{ Name: ";
  std::vector<EngineTensor> tensors;
  for (std::size_t at = list.find(kBegin); at != std::string_view::npos;) {
    list.remove_prefix(at + kBegin.size());
    at = list.find(kBegin);
    const std::string_view tensor = list.substr(0, at);
    tensors.push_back({std::string(tensor.substr(0, tensor.find(", Dimensions: ["))),
                       type_in(between(tensor, "Datatype: ", ",")), std::string(between(tensor, "Format: ", " }"))});
  }
  return tensors;
}

std::string text_of(const Json& object, std::string_view key) {
  const Json* const value = object.find(key);
  return value != nullptr && value->is_text() ? value->text() : "";
}

std::vector<EngineTensor> tensors_of(const Json& layer, std::string_view key) {
  std::vector<EngineTensor> tensors;
  const Json* const list = layer.find(key);
  if (list == nullptr || !list->is_array()) return tensors;
  for (const Json& tensor : list->items()) {
    if (!tensor.is_object()) continue;
    std::string layout = text_of(tensor, "Format/Datatype");
    if (layout.empty()) layout = text_of(tensor, "Format");
    const std::string type = text_of(tensor, "Datatype");
    tensors.push_back({text_of(tensor, "Name"), type_in(type.empty() ? layout : type), layout});
  }
  return tensors;
}

void drop_waiting(std::vector<EngineKernel>& kernels) {
  std::erase_if(kernels, [](const EngineKernel& kernel) {
    const std::string kind = lower_case(kernel.kind);
    return kind == "signal" || kind == "wait";
  });
}

}  // namespace

std::string type_in(std::string_view words) {
  // Longer words first: "bfloat16" holds "float", "int8" is no "uint8".
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 18> kTypes{{{"bfloat16", "bfloat16"},
                                                                                         {"bf16", "bfloat16"},
                                                                                         {"float16", "float16"},
                                                                                         {"fp16", "float16"},
                                                                                         {"half", "float16"},
                                                                                         {"fp8", "float8"},
                                                                                         {"e4m3", "float8"},
                                                                                         {"fp4", "float4"},
                                                                                         {"e2m1", "float4"},
                                                                                         {"uint8", "uint8"},
                                                                                         {"int8", "int8"},
                                                                                         {"int4", "int4"},
                                                                                         {"int32", "int32"},
                                                                                         {"int64", "int64"},
                                                                                         {"bool", "bool"},
                                                                                         {"float32", "float32"},
                                                                                         {"fp32", "float32"},
                                                                                         {"float", "float32"}}};
  const std::string known = lower_case(std::string(words));
  for (const auto& [word, type] : kTypes) {
    if (known.find(word) != std::string::npos) return std::string(type);
  }
  return std::string(words);
}

std::vector<EngineKernel> kernels_from_lines(std::string_view text) {
  constexpr std::string_view kName = "Name: ", kKind = ", LayerType: ", kInputs = ", Inputs: [";
  std::vector<EngineKernel> kernels;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t kind = line.find(kKind);
    if (!line.starts_with(kName) || kind == std::string_view::npos) continue;
    EngineKernel kernel;
    kernel.name = line.substr(kName.size(), kind - kName.size());
    kernel.kind = line.substr(kind + kKind.size());
    kernel.kind = kernel.kind.substr(0, kernel.kind.find(','));
    const std::size_t inputs = std::min(line.find(kInputs, kind), line.size());
    const std::size_t constants = std::min(line.find("], Constants: [", inputs), line.size());
    const std::size_t outputs = std::min(line.find("], Outputs: [", inputs), line.size());
    const std::size_t tactic = std::min(line.find("], TacticName: ", outputs), line.size());
    kernel.inputs = tensors_in(line.substr(inputs, std::min(constants, outputs) - inputs));
    if (constants < outputs) kernel.constants = tensors_in(line.substr(constants, outputs - constants));
    kernel.outputs = tensors_in(line.substr(outputs, tactic - outputs));
    kernel.tactic = between(line.substr(tactic), "], TacticName: ", ", ");
    const std::size_t metadata = line.find(", Metadata: ", tactic);
    if (metadata != std::string_view::npos) kernel.nodes = nodes_in(line.substr(metadata));
    kernels.push_back(std::move(kernel));
  }
  drop_waiting(kernels);
  return kernels;
}

std::vector<EngineKernel> kernels_from_json(std::string_view text, const std::string& where) {
  const Json document = parse_json(text, where);
  const Json* const layers = document.find("Layers");
  if (layers == nullptr || !layers->is_array()) {
    throw Error(ErrorCode::JsonFile, where + ": not layer information: it has no list \"Layers\"",
                "trtexec --exportLayerInfo=FILE --profilingVerbosity=detailed writes it");
  }
  std::vector<EngineKernel> kernels;
  for (const Json& layer : layers->items()) {
    EngineKernel& kernel = kernels.emplace_back();
    if (layer.is_text()) {
      kernel.name = layer.text();
      continue;
    }
    if (!layer.is_object()) {
      throw Error(ErrorCode::JsonFile,
                  fmt::format("{}: layer {} is {}, not an object", where, kernels.size() - 1, layer.kind_text()));
    }
    kernel.name = text_of(layer, "Name");
    kernel.kind = text_of(layer, "LayerType");
    kernel.tactic = text_of(layer, "TacticName");
    kernel.inputs = tensors_of(layer, "Inputs");
    kernel.constants = tensors_of(layer, "Constants");
    kernel.outputs = tensors_of(layer, "Outputs");
    kernel.nodes = nodes_in(text_of(layer, "Metadata"));
  }
  drop_waiting(kernels);
  return kernels;
}

}  // namespace vernier
