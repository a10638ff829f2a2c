#include "jobs/scripting/network_scripts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "engines/onnxruntime/runtime.h"
#include "engines/onnxruntime/session.h"
#include "json/fields.h"
#include "model/prepare.h"
#include "plan/scheme.h"
#include "scripts/programs.h"
#include "scripts/script_process.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/format.h"

namespace vernier {
namespace {

constexpr const char* kDefaultFunction = "postprocess";

ScriptLocation location_of(const std::string& script) {
  if (const auto location = script_location(script, kDefaultFunction)) return *location;
  throw Error(ErrorCode::NoPythonFile, fmt::format("'{}' names no Python file", printable(script)),
              "postprocess.py, or postprocess.py:function");
}

Json nodes_json(const onnx::GraphProto& graph, const std::map<std::string, const Layer*>& layers,
                const std::map<std::string, const LayerSetting*>& settings) {
  Json nodes = Json::array();
  for (const onnx::NodeProto& node : graph.node()) {
    const auto layer = layers.find(node.name());
    const auto set = settings.find(node.name());
    Json types = Json::object();
    Json precision;
    if (set != settings.end()) {
      if (set->second->precision) precision = format_name(*set->second->precision);
      const std::vector<Format>& outputs = set->second->output_types;
      for (std::size_t i = 0; i < outputs.size(); ++i) types[std::to_string(i)] = format_name(outputs[i]);
    }
    nodes.add(Json::Object{{"name", node.name()},
                           {"op", node.op_type()},
                           {"inputs", Json::Array(node.input().begin(), node.input().end())},
                           {"outputs", Json::Array(node.output().begin(), node.output().end())},
                           {"path", layer != layers.end()},
                           {"moves", layer != layers.end() && layer->second->follows},
                           {"precision", std::move(precision)},
                           {"types", std::move(types)}});
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (!attribute.has_g()) continue;
      Json inside = nodes_json(attribute.g(), layers, settings);
      for (Json& node_inside : inside.items()) nodes.add(std::move(node_inside));
    }
  }
  return nodes;
}

std::vector<std::string> names_of(const std::vector<InputInfo>& infos) {
  std::vector<std::string> names;
  for (const InputInfo& info : infos) names.push_back(info.name);
  return names;
}

/// What a script called that changes nothing here: why, and what to use.
std::string reason_of(std::string_view ignored) {
  if (ignored.ends_with("mark_output") || ignored.ends_with("mark_debug")) {
    return "outputs stay those of the model; ‹vernier run --onnx-outputs NAME› adds outputs";
  }
  if (ignored.ends_with("dynamic_range")) return "ranges come from samples, or from ‹calibration-cache› FILE";
  return "scripts cannot rewire the network; ‹vernier surgeon› edits models";
}

/// Answers what it said.
Json run_script(const ScriptLocation& script, const Json& network, const SourceOptions& how) {
  Json answer;
  const ScratchFile scratch;
  ScriptProcess process(script, how);
  process.program = postprocess_program();
  process.kind = "network scripts";
  process.announces = "settings";
  // Names from a file may be anything; what is no text comes back by its index.
  const std::string text = json_text(network);
  process.arguments = {std::to_string(process.program.size()), std::to_string(text.size())};
  process.program += text;
  process.said = [&](const Json& said) { answer = said; };
  process.run(scratch);
  return answer;
}

}  // namespace

Json network_json(const Model& prepared, const std::vector<Layer>& layers, const std::vector<LayerSetting>& settings) {
  std::map<std::string, const Layer*> by_name;
  for (const Layer& layer : layers) by_name[layer.name] = &layer;
  std::map<std::string, const LayerSetting*> set;
  for (const LayerSetting& setting : settings) set[setting.layer] = &setting;
  Json tensors = Json::object();
  for (const auto& [name, type] : infer_types(prepared)) {
    Json shape;  // null where not even the rank is known, as the program in Python wants it
    if (type.rank_known) shape = Json::Array(type.shape.begin(), type.shape.end());
    tensors.add(name, Json::Array{dtype_name(type.dtype), std::move(shape)});
  }
  return Json::Object{{"name", prepared.proto.graph().name()},
                      {"inputs", json_of(names_of(model_inputs(prepared)))},
                      {"outputs", json_of(names_of(model_outputs(prepared)))},
                      {"tensors", std::move(tensors)},
                      {"layers", nodes_json(prepared.proto.graph(), by_name, set)}};
}

std::vector<LayerSetting> settings_of(const Json& set, const Json& network, const Warn& warn) {
  std::vector<LayerSetting> settings;
  std::vector<std::string> moving;
  for (const Json& one : set.items()) {
    const Json& layer = network.at("layers").at(one.at(0).integer<std::size_t>());
    const std::string& name = layer.at("name").text();
    if (layer.at("moves").boolean()) moving.push_back(printable(name));
    // What computes shapes and indices has no precision to set, and scripts often set that of all there is.
    if (!layer.at("path").boolean() || layer.at("moves").boolean()) continue;
    LayerSetting setting{name, {}, {}};
    if (!one.at(1).is_null()) setting.precision = parse_format(one.at(1).text());
    std::map<std::string_view, std::string_view> types;  // by the number of the output
    for (const Json::Member& type : one.at(2).members()) types[type.key] = type.value.text();
    for (const auto& [output, type] : types) {
      if (const auto format = parse_format(type)) setting.output_types.push_back(*format);
    }
    settings.push_back(std::move(setting));
  }
  if (!moving.empty()) {
    warn({"moving-layers-follow", {{"layers", moving}}});
  }
  return settings;
}

PrecisionOptions run_network_scripts(const OnnxModel& source, PrecisionOptions precision, const SourceOptions& how,
                                     Sources& sources, const Warn& warn) {
  if (precision.network_scripts.empty()) return precision;
  const JobSinks& sinks = sources.sinks();
  const PrepareOptions options = preparation_of(precision);
  const std::shared_ptr<const Prepared> prepared = sources.prepared(source, options);
  const std::vector<Layer> layers = find_layers(prepared->model);
  SourceOptions running = how;
  running.interrupted = sinks.interrupted;
  for (const std::string& script : precision.network_scripts) {
    const Json network = network_json(prepared->model, layers, precision.layer_settings);
    const std::vector<LayerSetting> before = std::move(precision.layer_settings);
    const Json said = run_script(location_of(script), network, running);
    precision.layer_settings = settings_of(said.at("set"), network, warn);
    for (const Json& ignored : said.at("ignored").items()) {
      warn({"script-call-without-effect",
            {{"script", script}, {"call", ignored.text()}, {"why", reason_of(ignored.text())}}});
    }
    if (precision.layer_settings == before) {
      warn({"script-changed-nothing", {{"script", script}}});
    }
    if (!sinks.info) continue;
    sinks.info(fmt::format("{}: {} set", printable(script), plural(precision.layer_settings.size(), "layer")));
  }
  precision.network_scripts.clear();
  return precision;
}

std::vector<std::filesystem::path> script_files(const PrecisionOptions& precision) {
  std::vector<std::filesystem::path> files;
  for (const std::string& script : precision.network_scripts) files.emplace_back(location_of(script).file);
  return files;
}

}  // namespace vernier
