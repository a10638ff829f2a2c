// `vernier inspect model --visual`: the graph in Graphviz's language, and its picture. Names come from untrusted files:
// they are quoted for the language here, and Graphviz escapes them for SVG.

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/process.h"
#include "base/scratch_folder.h"
#include "base/text.h"
#include "json/json.h"
#include "model/layers.h"
#include "plan/simulate_typed.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/format.h"
#include "vernier/inspect.h"
#include "vernier/sinks.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

// dot takes minutes beyond this, and nobody finds anything in such a picture.
constexpr int kMostNodes = 3000;
constexpr std::size_t kLongestName = 60;
constexpr double kDotSeconds = 300;

std::string dot_label(std::string_view name) {
  std::string text;
  for (const char c : printable(name.substr(0, kLongestName))) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return name.size() > kLongestName ? text + ".." : text;
}

std::string colour_of_format(Format format) {
  switch (format) {
    case Format::Float32:
      return "white";
    case Format::Float16:
    case Format::BFloat16:
      return "lightblue";
    default:
      return "palegreen";
  }
}

/// Green where the layer's own error is small, red where it is large.
std::string colour_of_sqnr(double db) {
  return db >= 40 ? "palegreen" : db >= 25 ? "khaki" : db >= 15 ? "orange" : "tomato";
}

std::map<std::string, std::string> colours(const Model& model, const DrawOptions& options) {
  std::map<std::string, std::string> colour;
  if (options.report.empty()) {
    for (const PlannedLayer& layer : simulate_typed(model).layers) colour[layer.name] = colour_of_format(layer.format);
    return colour;
  }
  const std::optional<Json> json = try_parse_json(read_text(options.report));
  const Json* const layers = json ? json->find("layers") : nullptr;
  if (layers == nullptr || !layers->is_array()) {
    throw Error(ErrorCode::JsonFile, fmt::format("{}: no report of diagnose or verify", options.report.string()));
  }
  for (const Json& layer : layers->items()) {
    const Json* const name = layer.find("name");
    const Json* const own = layer.find("own_sqnr_db");
    if (name == nullptr || !name->is_text() || own == nullptr || !own->is_number()) continue;
    colour[name->text()] = colour_of_sqnr(own->number());
  }
  return colour;
}

std::string dot_text(const Model& model, const std::map<std::string, std::string>& colour) {
  const onnx::GraphProto& graph = model.proto.graph();
  std::string text = "digraph model {\n  node [shape=box, style=filled, fillcolor=white, fontname=\"sans-serif\"];\n";
  std::map<std::string, std::string> maker;
  int count = 0;
  for (const onnx::ValueInfoProto& input : graph.input()) {
    const std::string id = fmt::format("i{}", count++);
    maker[input.name()] = id;
    text += fmt::format("  {} [shape=ellipse, label=\"{}\"];\n", id, dot_label(input.name()));
  }
  for (int i = 0; i < graph.node_size(); ++i) {
    const onnx::NodeProto& node = graph.node(i);
    const auto fill = colour.find(node.name());
    text += fmt::format("  n{} [label=\"{}\\n{}\", fillcolor={}];\n", i, dot_label(node.op_type()),
                        dot_label(node.name()), fill == colour.end() ? "white" : fill->second);
    for (const std::string& name : tensors_read(node)) {
      if (const auto from = maker.find(name); from != maker.end())
        text += fmt::format("  {} -> n{};\n", from->second, i);
    }
    for (const std::string& output : node.output()) maker[output] = fmt::format("n{}", i);
  }
  for (const onnx::ValueInfoProto& output : graph.output()) {
    const std::string id = fmt::format("o{}", count++);
    text += fmt::format("  {} [shape=ellipse, label=\"{}\"];\n", id, dot_label(output.name()));
    if (const auto from = maker.find(output.name()); from != maker.end()) {
      text += fmt::format("  {} -> {};\n", from->second, id);
    }
  }
  return text + "}\n";
}

std::string lay_out(const std::string& dot, const JobSinks& sinks) {
  const ScratchFolder folder;
  replace_file(folder / "model.dot", dot);
  std::string svg;
  ProcessOptions process;
  process.output = [&](std::string_view part) { svg += part; };
  process.timeout_seconds = kDotSeconds;
  process.interrupted = sinks.interrupted;
  ProcessEnd end;
  try {
    end = run_process({"dot", "-Tsvg", (folder / "model.dot").string()}, process);
  } catch (const Error& error) {
    throw Error(ErrorCode::ProgramFails, fmt::format("Graphviz lays the picture out: {}", error.what()),
                "apt-get install graphviz, or ‹visual› FILE.dot, which needs none");
  }
  if (end.interrupted) throw Error(ErrorKind::Interrupted, "interrupted");
  if (!end.succeeded()) throw Error(ErrorCode::ProgramFails, fmt::format("dot {}", end_text(end)));
  return svg;
}

}  // namespace

DrawnModel draw_model(const DrawOptions& options, const JobSinks& sinks) {
  const std::string extension = options.output.extension().string();
  if (extension != ".svg" && extension != ".html" && extension != ".dot") {
    throw Error(ErrorCode::BadValue, fmt::format("‹visual› {}: not .svg, .html or .dot", options.output.string()));
  }
  const Model model = read_model(options.model, options.external_data_dir);
  if (model.proto.graph().node_size() > kMostNodes) {
    throw Error(ErrorCode::NotMeasurable,
                fmt::format("{}: {} nodes, more than the {} that a picture can show", options.model.name(),
                            model.proto.graph().node_size(), kMostNodes),
                "‹vernier surgeon extract› cuts a part out");
  }
  const std::string dot = dot_text(model, colours(model, options));
  if (extension == ".dot") {
    replace_file(options.output, dot);
  } else {
    const std::string svg = lay_out(dot, sinks);
    const std::string head = "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>Model</title></head><body>\n";
    const std::size_t start = std::min(svg.find("<svg"), svg.size());
    replace_file(options.output, extension == ".svg" ? svg : head + svg.substr(start) + "</body></html>\n");
  }
  return {options.output, static_cast<std::size_t>(model.proto.graph().node_size()), !options.report.empty()};
}

}  // namespace vernier
