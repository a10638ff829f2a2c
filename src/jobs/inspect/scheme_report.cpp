// Layers, work and weights by format, of a typed file or of a plan.

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "engines/onnxruntime/runtime.h"
#include "engines/onnxruntime/session.h"
#include "jobs/common/typed_file.h"
#include "model/graph_edit.h"
#include "model/prepare.h"
#include "model/trip_counts.h"
#include "plan/can_take.h"
#include "plan/lower_typed.h"
#include "plan/rules/qdq_graph.h"
#include "plan/scheme.h"
#include "plan/simulate_typed.h"
#include "plan/storable_weight.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/format.h"
#include "vernier/precision.h"
#include "vernier/quantization.h"
#include "vernier/report/scheme.h"
#include "vernier/scheme.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

/// Shapes as inferred, dimensions that are not known as 1.
std::map<std::string, Shape> known_shapes(const Model& model, bool& open) {
  std::map<std::string, Shape> shapes;
  for (const auto& [name, type] : infer_types(model)) {
    if (!type.rank_known) continue;
    Shape shape = type.shape;
    for (std::int64_t& dim : shape) {
      if (dim >= 0) continue;
      dim = 1;
      open = true;
    }
    shapes[name] = std::move(shape);
  }
  return shapes;
}

/// The simulated model names tensors before and behind their rounding differently; their shapes are the same.
void add_rounded(const Model& simulated, std::map<std::string, Shape>& shapes) {
  const auto base = [](const std::string& name) {
    for (const std::string_view ending : {"/unrounded", "/rounded"}) {
      if (name.ends_with(ending)) return name.substr(0, name.size() - ending.size());
    }
    return name;
  };
  for (const onnx::NodeProto& node : simulated.proto.graph().node()) {
    for (const auto* names : {&node.input(), &node.output()}) {
      for (const std::string& name : *names) {
        const auto known = shapes.find(base(name));
        if (!shapes.contains(name) && known != shapes.end()) shapes[name] = known->second;
      }
    }
  }
}

/// 0 where a shape is not known.
std::int64_t work_of(const Model& model, const Layer& layer, const onnx::NodeProto& node,
                     const std::map<std::string, Shape>& shapes) {
  const auto known = [&](const std::vector<std::string>& names) {
    return std::ranges::all_of(names, [&](const std::string& name) { return shapes.contains(name); });
  };
  return known(layer.inputs) && known(layer.outputs) ? multiply_accumulates(model, layer, node, shapes) : 0;
}

std::int64_t bytes_of(const Model& model, const std::string& name) {
  const auto value = initializer(model, name);
  return value ? (value->count() * dtype_bits(value->dtype()) + 7) / 8 : 0;
}

/// Bytes of the constants that each node of the file reads, through its DequantizeLinear where there is one.
std::map<std::string, std::int64_t> stored_bytes(const Model& file) {
  const QdqGraph graph(file);
  std::map<std::string, std::int64_t> bytes;
  std::set<std::string> counted;
  for (const onnx::NodeProto& node : file.proto.graph().node()) {
    if (QdqGraph::dequantizes(node) || QdqGraph::quantizes(node)) continue;
    for (const std::string& input : node.input()) {
      const onnx::NodeProto* dequantizer = graph.dequantizer(input);
      if (dequantizer != nullptr && !graph.of_constant(*dequantizer)) continue;
      std::vector<std::string> constants{input};
      if (dequantizer != nullptr) constants.assign(dequantizer->input().begin(), dequantizer->input().end());
      for (const std::string& name : constants) {
        if (counted.insert(name).second) bytes[node.name()] += bytes_of(file, name);
      }
    }
  }
  return bytes;
}

/// Some reader of the dequantized tensor can take its codes: a weighted operator all of whose operands are dequantized,
/// or an operator whose result is quantized.
bool is_fused(const QdqGraph& graph, const onnx::NodeProto& dequantizer) {
  return std::ranges::any_of(graph.readers(dequantizer.output(0)), [&](const onnx::NodeProto* reader) {
    if (has_weight(*reader)) return graph.inputs(*reader, 2).plain.empty();
    return std::ranges::any_of(reader->output(), [&](const std::string& output) {
      return std::ranges::any_of(graph.readers(output), [](const auto* node) { return QdqGraph::quantizes(*node); });
    });
  });
}

void count_conversions(const Model& file, SchemeReport& report) {
  const QdqGraph graph(file);
  std::size_t fused = 0;
  std::size_t standalone = 0;
  std::size_t stored = 0;
  std::size_t casts = 0;
  for (const onnx::NodeProto& node : graph.graph().node()) {
    if (node.op_type() == "Cast") ++casts;
    if (!QdqGraph::dequantizes(node)) continue;
    if (graph.of_constant(node)) {
      ++stored;
    } else {
      ++(is_fused(graph, node) ? fused : standalone);
    }
  }
  report.fused_pairs = fused;
  report.standalone_pairs = standalone;
  report.stored_constants = stored;
  report.casts = casts;
}

void sum_up(SchemeReport& report, const std::map<std::string, std::int64_t>& bytes) {
  std::map<Format, FormatRow> rows;
  for (const SchemeLayer& layer : report.layers) {
    FormatRow& row = rows[layer.format];
    row.format = layer.format;
    ++row.layers;
    row.macs += layer.macs;
    if (const auto own = bytes.find(layer.name); own != bytes.end()) row.weight_bytes += own->second;
  }
  for (auto& [format, row] : rows) report.formats.push_back(row);
  std::ranges::stable_sort(report.formats, {}, [](const FormatRow& row) { return bits_of(row.format); });
}

/// Why layers are not in the lowest format of the report.
void explain(SchemeReport& report, const Model& model, const std::vector<Layer>& layers, Target target,
             const QuantizationRules& rules, const std::string& able) {
  if (report.layers.empty()) return;
  const auto lowest =
      std::ranges::min_element(report.layers, {}, [](const SchemeLayer& row) { return bits_of(row.format); });
  const Format low = lowest->format;
  if (low == Format::Float32) return;
  std::map<std::string, const Layer*> by_name;
  for (const Layer& layer : layers) by_name[layer.name] = &layer;
  const std::map<std::string, const onnx::NodeProto*> nodes = nodes_by_name(model.proto.graph());
  const std::map<std::string, ValueType> types = infer_types(model);
  for (SchemeLayer& row : report.layers) {
    const auto layer = by_name.find(row.name);
    if (row.format == low || layer == by_name.end()) continue;
    const onnx::NodeProto* const node = nodes.at(row.name);
    std::string reason;
    const bool takes = can_take(model, *layer->second, node, low, target, &reason, rules) &&
                       can_read_in_blocks(types, *node, low, target, rules, &reason);
    row.why_not = takes ? able : reason;
    if (row.why_not == row.op_type + " is not an operator of the scheme") row.why_not = "not in the scheme";
  }
}

SchemeReport formats_of(const Model& typed) {
  SchemeReport report;
  report.file = typed.path.string();
  const SimulatedFile simulated = simulate_typed(typed);
  const Model file = normalized_file(typed);
  std::map<std::string, Shape> shapes = known_shapes(file, report.open_dimensions);
  add_rounded(simulated.model, shapes);
  std::map<std::string, Format> formats;
  for (const PlannedLayer& layer : simulated.layers) formats[layer.name] = layer.format;
  const std::vector<Layer> layers = find_layers(simulated.model);
  const std::map<std::string, const onnx::NodeProto*> nodes = nodes_by_name(simulated.model.proto.graph());
  const TripCounts trips(simulated.model, [&](const std::string& tensor) {
    const auto known = shapes.find(tensor);
    return known == shapes.end() ? std::nullopt : std::optional(known->second);
  });
  for (const Layer& layer : layers) {
    const auto format = formats.find(layer.name);
    if (layer.follows || format == formats.end()) continue;
    const std::int64_t macs =
        work_of(simulated.model, layer, *nodes.at(layer.name), shapes) * trips.of(layer.graph).value_or(1);
    report.layers.push_back({layer.name, layer.op_type, format->second, macs, {}});
  }
  sum_up(report, stored_bytes(file));
  count_conversions(file, report);
  const bool unsigned_codes =
      std::ranges::any_of(report.layers, [](const SchemeLayer& layer) { return layer.format == Format::UInt8; });
  explain(report, simulated.model, layers, unsigned_codes ? Target::OnnxRuntime : Target::TensorRt, {},
          "it could: whoever wrote the file left it");
  report.notes = simulated.notes;
  return report;
}

}  // namespace

SchemeReport inspect_formats(const OnnxModel& model, const std::filesystem::path& external_data_dir) {
  return formats_of(as_typed_file(read_model(model, external_data_dir)));
}

SchemeReport inspect_plan(const std::filesystem::path& plan_file, const OnnxModel& float_model) {
  std::optional<Model> model;
  if (!float_model.empty()) model = read_model(float_model);
  const Plan plan = plan_from_json(read_text(plan_file), plan_file.string(), model ? &*model : nullptr);
  SchemeReport report;
  if (!model) {
    for (const PlannedLayer& layer : plan.layers) report.layers.push_back({layer.name, "", layer.format, 0, {}});
    sum_up(report, {});
  } else {
    const Model& original = *model;
    if (!plan.model_sha256.empty() && plan.model_sha256 != original.sha256) {
      throw Error(ErrorCode::OtherModel, fmt::format("{}: the plan was made for another model ({})", plan_file.string(),
                                                     printable(plan.model_file)));
    }
    const Model prepared = prepare(original, preparation_of(plan), evaluator(Runtime::load())).model;
    const TypedModel typed = lower_typed(prepared, plan, /*strict=*/false);
    report = formats_of(typed.model);
    for (SchemeLayer& layer : report.layers) layer.why_not.clear();
    explain(report, prepared, find_layers(prepared), plan.target, plan.rules, "it could: the plan keeps it");
    report.notes = typed.notes;
  }
  report.file = plan_file.string();
  report.scheme = plan.scheme;
  return report;
}

}  // namespace vernier
