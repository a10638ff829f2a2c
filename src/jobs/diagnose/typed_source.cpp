#include "jobs/diagnose/typed_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/text.h"
#include "model/model.h"
#include "plan/simulate_typed.h"
#include "vernier/format.h"

namespace vernier {
namespace {

bool symmetric(const QuantParams& params) {
  return std::ranges::all_of(params.zero_point, [](std::int32_t zero) { return zero == 0; });
}

/// "4 layers in int8 and 2 in float16".
std::string formats_text(const std::map<Format, std::size_t>& counts) {
  std::vector<std::string> parts;
  for (const auto& [format, count] : counts) {
    parts.push_back(fmt::format("{} in {}", plural(count, "layer"), format_name(format)));
  }
  return list_some(parts);
}

}  // namespace

TypedSource raise_typed_source(const OnnxModel& source, Sources& sources, PrecisionOptions& precision) {
  TypedSource found;
  const std::shared_ptr<const Model> given = sources.model(source);
  SimulatedFile raised = without_roundings(*given);
  std::map<Format, std::size_t> low;
  for (const PlannedLayer& layer : raised.layers) {
    if (layer.format == Format::Float32) {
      found.high.insert(layer.name);
    } else {
      ++low[layer.format];
    }
  }
  if (low.empty()) return {};
  found.raised = true;
  // Without its pair a tensor may go by either name.
  for (const QuantizedTensor& tensor : raised.quantized) {
    found.scales[tensor.tensor] = tensor.params;
    found.scales[tensor.output] = tensor.params;
  }
  for (const std::string& layer : found.high) {
    const bool chosen = std::ranges::any_of(precision.layer_precisions, [&](const auto& given_precision) {
      return wildcard_match(given_precision.first, layer);
    });
    if (!chosen) precision.layer_settings.push_back({layer, precision.high, {}});
  }
  found.notes.push_back(
      fmt::format("the file is in low precision already ({}): measured against the float32 network behind it, with its "
                  "weights as they are; layers that it has in float32 stay there",
                  formats_text(low)));
  raised.model.path = given->path;
  raised.model.sha256 = given->sha256;
  raised.model.data_files = given->data_files;
  sources.set_model(source, std::move(raised.model));
  return found;
}

std::vector<std::string> keep_scales(const TypedSource& source, Plan& plan) {
  if (source.scales.empty() || plan.tensors.empty()) return {};
  std::size_t kept = 0;
  for (auto& [tensor, params] : plan.tensors) {
    const auto own = source.scales.find(tensor);
    if (own == source.scales.end() || own->second.format != params.format) continue;
    if (symmetric(params) && !symmetric(own->second)) continue;
    params = own->second;
    ++kept;
  }
  if (kept == plan.tensors.size()) {
    return {fmt::format("all {} keep the scales of the file", plural(kept, "quantized tensor"))};
  }
  return {fmt::format("{} of {} keep the scales of the file; the others are quantized as the target takes them", kept,
                      plural(plan.tensors.size(), "quantized tensor"))};
}

}  // namespace vernier
