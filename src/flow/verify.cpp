// Measures a typed file by what the file says: it is reloaded, simulated from its own Casts and Q/DQ, and compared with
// the float model layer by layer in lock-step.

#include "flow/verify.h"

#include <fmt/format.h>

#include <algorithm>

#include "compare/lockstep.h"
#include "core/text.h"
#include "engine/ort/runtime.h"
#include "flow/figures.h"
#include "flow/setup.h"
#include "flow/stopwatch.h"
#include "plan/round_node.h"
#include "plan/simulate_typed.h"
#include "vernier/error.h"
#include "vernier/jobs.h"

namespace vernier {
namespace {

void check_same_interface(const Model& reference, const Model& typed) {
  const auto names = [](const std::vector<InputInfo>& infos) {
    std::vector<std::string> list;
    for (const InputInfo& info : infos) list.push_back(info.name);
    std::sort(list.begin(), list.end());
    return list;
  };
  const auto compare = [&](const char* what, const std::vector<InputInfo>& a, const std::vector<InputInfo>& b) {
    if (names(a) == names(b)) return;
    throw Error(ErrorKind::Input, fmt::format("{} and {} have different {}: {} against {}", reference.path.string(),
                                              typed.path.string(), what, list_some(names(a)), list_some(names(b))));
  };
  compare("inputs", model_inputs(reference), model_inputs(typed));
  compare("outputs", model_outputs(reference), model_outputs(typed));
}

/// Layer outputs of the float model that the file has too, by tensor name, else by node name and output index. When the
/// file keeps a low version beside the float one, the node's own output is what the layer computed.
struct Matches {
  std::vector<Match> pairs;
  std::vector<const Layer*> layers;  // parallel
  std::vector<std::string> missing;
};

/// The tensor of the file that a simulated node writes, behind the Round that simulate_typed put there.
std::string rounded_name(const Model& simulated, const std::string& tensor) {
  if (!tensor.ends_with("/unrounded")) return tensor;
  for (const onnx::NodeProto& node : simulated.proto.graph().node()) {
    if (node.domain() == kDomain && node.op_type() == "Round" && node.input(0) == tensor) return node.output(0);
  }
  return tensor;
}

/// What readers of `tensor` get in the file: the only Round that reads it, if nothing else does, else the tensor.
std::string as_read(const Model& simulated, const std::string& tensor) {
  std::string rounded;
  for (const onnx::NodeProto& node : simulated.proto.graph().node()) {
    if (std::find(node.input().begin(), node.input().end(), tensor) == node.input().end()) continue;
    if (!rounded.empty() || node.domain() != kDomain || node.op_type() != "Round") return tensor;
    rounded = node.output(0);
  }
  for (const onnx::ValueInfoProto& output : simulated.proto.graph().output()) {
    if (output.name() == tensor) return tensor;
  }
  return rounded.empty() ? tensor : rounded;
}

Matches match_layers(const Subject& subject, const Model& simulated) {
  std::map<std::string, const onnx::NodeProto*> by_name;
  std::map<std::string, std::string> produced;  // by which operator
  for (const onnx::NodeProto& node : simulated.proto.graph().node()) {
    by_name[node.name()] = &node;
    for (const std::string& output : node.output()) produced[output] = node.op_type();
  }
  std::map<std::string, const onnx::NodeProto*> nodes;
  for (const onnx::NodeProto& node : subject.model.proto.graph().node()) nodes[node.name()] = &node;
  // Tensors of the same name first. A node of the same name may write another tensor in the file: our own lowering
  // names low versions, and a Conv that absorbed its BatchNormalization writes the latter's output, which is matched
  // already.
  std::set<std::string> taken;
  for (const auto& [name, node] : nodes) {
    for (const std::string& output : node->output()) {
      if (produced.contains(output)) taken.insert(output);
    }
  }
  Matches matches;
  const auto add = [&](const Layer& layer, const std::string& ref, const std::string& low) {
    matches.pairs.push_back({ref, low});
    matches.layers.push_back(&layer);
  };
  for (const Layer& layer : subject.layers) {
    if (layer.follows) continue;
    const std::size_t before = matches.pairs.size();
    bool absorbed = false;
    const auto node = nodes.find(layer.name);
    const auto twin = by_name.find(layer.name);
    for (const std::string& output : layer.outputs) {
      if (const auto made = produced.find(output); made != produced.end()) {
        // Quantizers drop a Relu or Clip whose work the quantization behind it does as well: then the value is there.
        const bool clips = layer.op_type == "Relu" || layer.op_type == "Clip";
        const bool dropped = clips && made->second != layer.op_type && made->second != "Round";
        add(layer, output, dropped ? as_read(simulated, output) : output);
        continue;
      }
      if (twin == by_name.end() || node == nodes.end()) continue;
      for (int i = 0; i < node->second->output_size() && i < twin->second->output_size(); ++i) {
        if (node->second->output(i) != output || twin->second->output(i).empty()) continue;
        // A rounded output keeps the file's name behind the Round; the node itself writes the unrounded one.
        const std::string low = rounded_name(simulated, twin->second->output(i));
        if (taken.insert(low).second) {
          add(layer, output, low);
        } else {
          absorbed = true;
        }
      }
    }
    if (matches.pairs.size() == before) {
      const char* why = !layer.graph.empty()    ? "inside a body"
                        : absorbed              ? "merged into the next layer, which is compared"
                        : twin == by_name.end() ? "no node or tensor of this name in the typed file"
                                                : "its node in the typed file has no such output";
      matches.missing.push_back(fmt::format("{}: {}", layer.name, why));
    }
  }
  return matches;
}

}  // namespace

VerifyReport verify(const VerifyOptions& options, const JobSinks& sinks) {
  return verify_model(read_model(options.typed_model), options, sinks);
}

VerifyReport verify_model(const Model& typed, const VerifyOptions& options, const JobSinks& sinks) {
  VerifyReport report;
  Stopwatch watch(report.phases);
  watch.phase("load");
  SimulatedFile simulated = simulate_typed(typed);
  Loaded loaded = load(options.float_model, {Format::Float32}, options.measure, sinks, default_opset(typed.proto));
  Subject& subject = loaded.subject;
  check_same_interface(loaded.original, typed);
  if (loaded.inlined_ifs || default_opset(subject.model.proto) > default_opset(typed.proto)) {
    // The file keeps its Ifs: inline the same ones, so that the bodies' layers meet their twins. Both halves of a
    // comparison share one opset: a file below the float model's is raised.
    PrepareOptions prepare_options;
    prepare_options.formats = {Format::Float32};
    prepare_options.inline_ifs = loaded.inlined_ifs;
    prepare_options.min_opset = default_opset(subject.model.proto);
    show_samples(loaded, prepare_options);
    simulated.model = prepare(simulated.model, prepare_options, evaluator(subject.runtime)).model;
  }

  report.command = options.command;
  report.vernier_version = VERNIER_VERSION;
  report.onnx_version = VERNIER_ONNX_VERSION;
  report.onnxruntime_version = subject.runtime->version();
  report.machine = machine_text();
  report.float_file = options.float_model.string();
  report.float_sha256 = loaded.original.sha256;
  report.typed_file = options.typed_model.string();
  report.typed_sha256 = typed.sha256;
  report.data = loaded.samples->description();
  report.samples = loaded.samples->size();
  report.random_data = loaded.samples->is_random();
  report.requirement = options.measure.requirement;
  report.warnings = loaded.warnings;
  report.notes = simulated.notes;
  for (const std::string& text : report.warnings) {
    if (sinks.warning) sinks.warning(text);
  }

  watch.phase("lock-step comparison");
  const Matches matches = match_layers(subject, simulated.model);
  const Lockstep measured = lockstep(subject, simulated.model, matches.pairs);
  watch.stop();
  const Requirement* requirement = options.measure.requirement ? &*options.measure.requirement : nullptr;
  report.figures = figures_of(subject.judged, measured.outputs, requirement);

  std::map<std::string, Format> formats;
  for (const PlannedLayer& layer : simulated.layers) formats[layer.name] = layer.format;
  std::map<const Layer*, ErrorStats> by_layer;
  for (std::size_t i = 0; i < matches.pairs.size(); ++i) by_layer[matches.layers[i]] += measured.errors[i];
  for (const Layer& layer : subject.layers) {
    const auto stats = by_layer.find(&layer);
    if (stats == by_layer.end() || stats->second.count == 0) continue;
    LayerRow row;
    row.name = layer.name;
    row.op_type = layer.op_type;
    row.graph = layer.graph;
    if (const auto format = formats.find(layer.name); format != formats.end()) row.format = format->second;
    row.propagated_sqnr_db = sqnr_db(stats->second);
    row.nan = stats->second.got_nan;
    row.overflowed = stats->second.got_inf;
    row.values = stats->second.count;
    report.layers.push_back(std::move(row));
  }
  report.compared = report.layers.size();
  report.not_compared = matches.missing;
  return report;
}

}  // namespace vernier
