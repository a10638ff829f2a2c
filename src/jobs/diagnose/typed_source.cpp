#include "jobs/diagnose/typed_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "base/text.h"
#include "jobs/diagnose/pair_clamps.h"
#include "jobs/verify/stored_values.h"
#include "model/contents.h"
#include "model/graph_edit.h"
#include "model/model.h"
#include "plan/simulate_typed.h"
#include "vernier/error.h"
#include "vernier/format.h"
#include "vernier/report/defects.h"

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

/// The formats that `file` computes in other than float32; layers in float32 are put into `high`.
std::map<Format, std::size_t> low_formats(const SimulatedFile& file, std::set<std::string>& high) {
  std::map<Format, std::size_t> low;
  for (const PlannedLayer& layer : file.layers) {
    if (layer.format == Format::Float32) {
      high.insert(layer.name);
    } else {
      ++low[layer.format];
    }
  }
  return low;
}

/// Layers in float32 stay there, except where the user chose a format.
void keep_high(const std::set<std::string>& layers, PrecisionOptions& precision) {
  for (const std::string& layer : layers) {
    const bool chosen = std::ranges::any_of(precision.layer_precisions, [&](const auto& given_precision) {
      return wildcard_match(given_precision.first, layer);
    });
    if (!chosen) precision.layer_settings.push_back({layer, precision.high, {}});
  }
}

/// What an engine refuses has no figures.
void require_usable_pairs(const OnnxModel& source, const Model& model) {
  for (const FoundDefect& defect : defects_of_pairs(normalized_file(model), /*perhaps_meant=*/false)) {
    if (!defect.refused) continue;
    throw Error(ErrorKind::Input,
                fmt::format("{}: '{}': {}", printable(source.name()), printable(defect.node), defect.text),
                "all such faults: ‹vernier check lint MODEL›");
  }
}

/// The same range under the format of `wanted`, an activation's: the largest of its ends where the grid is symmetric.
/// Absent where that is no range of one scale.
std::optional<QuantParams> with_range_of(const QuantParams& wanted, const QuantParams& own) {
  if (wanted.scale.size() != 1 || own.scale.size() != 1 || own.block > 0) return std::nullopt;
  const GridEnds ends = grid_ends(own);
  if (wanted.format == Format::UInt8) {
    return asymmetric_params(static_cast<float>(ends.low), static_cast<float>(ends.high));
  }
  if (!symmetric(wanted)) return std::nullopt;
  const auto most = static_cast<float>(std::max(std::abs(ends.low), std::abs(ends.high)));
  return symmetric_params(wanted.format, std::array{most}, -1);
}

}  // namespace

TypedSource take_over(const OnnxModel& quantized, const OnnxModel& source, Sources& sources,
                      PrecisionOptions& precision) {
  if (holds_quantized_values(*sources.model(source))) {
    throw Error(ErrorKind::Input, fmt::format("{}: is quantized itself, and no float model", printable(source.name())),
                "give the model that was quantized; are the two swapped?");
  }
  TypedSource found = raise_typed_source(source, sources, precision);  // float16 and bfloat16
  const std::shared_ptr<const Model> network = sources.model(source);
  const std::shared_ptr<const Model> given = sources.model(quantized);
  require_usable_pairs(quantized, *given);
  const SimulatedFile file = simulate_typed(*given);
  std::set<std::string> high;
  if (low_formats(file, high).empty() && !holds_quantized_values(*given)) {
    throw Error(ErrorKind::Input, fmt::format("{}: no layer is in low precision", printable(quantized.name())),
                "‹from› reads a model with Q/DQ pairs or casts");
  }
  std::map<std::string, QuantParams> behind;  // by what a pair makes
  for (const QuantizedTensor& tensor : file.quantized) {
    behind[tensor.output] = tensor.params;
    if (!tensor.quantizer.empty()) found.scales[tensor.tensor] = tensor.params;
  }
  std::size_t shared = 0;
  const std::map<std::string, const onnx::NodeProto*> nodes = nodes_by_name(given->proto.graph());
  for (const onnx::NodeProto& node : network->proto.graph().node()) {
    const auto twin = nodes.find(node.name());
    if (twin == nodes.end() || twin->second->op_type() != node.op_type()) continue;
    ++shared;
    if (high.contains(node.name())) found.high.insert(node.name());
    for (int i = 0; i < std::min(node.input_size(), twin->second->input_size()); ++i) {
      if (const auto pair = behind.find(twin->second->input(i)); pair != behind.end()) {
        found.scales[node.input(i)] = pair->second;
      }
    }
  }
  if (shared == 0) {
    throw Error(ErrorKind::Input,
                fmt::format("{} and {} share no layer: no node has the same name and operator in both",
                            printable(source.name()), printable(quantized.name())),
                "‹from› reads a model that was quantized from this one");
  }
  keep_high(found.high, precision);
  found.notes.push_back(fmt::format("from {}: the ranges of {}, and {} in float32", printable(quantized.name()),
                                    plural(found.scales.size(), "tensor"), plural(found.high.size(), "layer")));
  return found;
}

TypedSource raise_typed_source(const OnnxModel& source, Sources& sources, PrecisionOptions& precision) {
  TypedSource found;
  const std::shared_ptr<const Model> given = sources.model(source);
  found.quantized = holds_quantized_values(*given);
  if (found.quantized) require_usable_pairs(source, *given);
  const PairClamps clamps = found.quantized ? find_pair_clamps(*given, sources) : PairClamps{};
  SimulatedFile raised = without_roundings(*given, clamps.kept);
  const std::map<Format, std::size_t> low = low_formats(raised, found.high);
  if (low.empty()) {
    found.high.clear();
    return found;
  }
  found.raised = true;
  // Without its pair a tensor may go by either name.
  for (const QuantizedTensor& tensor : raised.quantized) {
    found.scales[tensor.tensor] = tensor.params;
    found.scales[tensor.output] = tensor.params;
  }
  keep_high(found.high, precision);
  found.notes.push_back(
      fmt::format("the file is in low precision already ({}): measured against the float32 network behind it, with its "
                  "weights as they are; layers that it has in float32 stay there",
                  formats_text(low)));
  found.notes.insert(found.notes.end(), clamps.notes.begin(), clamps.notes.end());
  raised.model.path = given->path;
  raised.model.sha256 = given->sha256;
  raised.model.data_files = given->data_files;
  sources.set_model(source, std::move(raised.model));
  return found;
}

std::vector<std::string> keep_scales(const TypedSource& source, Plan& plan) {
  if (source.scales.empty() || plan.tensors.empty()) return {};
  std::size_t kept = 0, ranges = 0;
  for (auto& [tensor, params] : plan.tensors) {
    const auto own = source.scales.find(tensor);
    if (own == source.scales.end()) continue;
    const bool alike = own->second.format == params.format && (!symmetric(params) || symmetric(own->second));
    if (alike) {
      params = own->second;
      ++kept;
    } else if (const auto converted = with_range_of(params, own->second)) {
      params = *converted;
      ++ranges;
    }
  }
  if (kept == plan.tensors.size()) {
    return {fmt::format("all {} keep the scales of the file", plural(kept, "quantized tensor"))};
  }
  std::string text =
      fmt::format("{} of {} keep the scales of the file", kept, plural(plan.tensors.size(), "quantized tensor"));
  if (ranges > 0) text += fmt::format(", {} more its ranges", ranges);
  if (kept + ranges < plan.tensors.size()) text += "; the others are quantized as the target takes them";
  return {text};
}

}  // namespace vernier
