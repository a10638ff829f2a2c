// prepare_model IN OUT WORK PYTHON EVALUATE [format ...] [opset=N] [sample=FILE ...]
//
// Prepares a model and writes it, with what became of its layers as JSON on stdout. tests/diff/test_prepare.py runs it
// on real networks. Samples switch inline_ifs on.

#include <fmt/format.h>

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "json/fields.h"
#include "model/layers.h"
#include "model/prepare.h"
#include "python_evaluator.h"
#include "vernier/error.h"
#include "vernier/format.h"
#include "vernier/samples.h"

namespace {

vernier::Json describe(const vernier::Model& model) {
  vernier::Json json;
  json["opset"] = vernier::default_opset(model.proto);
  json["nodes"] = vernier::Json::array();
  vernier::for_each_graph(model.proto.graph(), [&](const onnx::GraphProto& graph) {
    for (const onnx::NodeProto& node : graph.node())
      json.at("nodes").add(vernier::Json::Array{node.name(), node.op_type()});
  });
  json["layers"] = vernier::Json::array();
  for (const vernier::Layer& layer : vernier::find_layers(model)) {
    json.at("layers").add(vernier::Json::Object{{"name", layer.name},
                                                {"op", layer.op_type},
                                                {"graph", layer.graph},
                                                {"inputs", vernier::json_of(layer.inputs)},
                                                {"weights", vernier::json_of(layer.weights)},
                                                {"outputs", vernier::json_of(layer.outputs)},
                                                {"follows", layer.follows},
                                                {"weighted", layer.weighted}});
  }
  return json;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) return 2;
  try {
    vernier::PrepareOptions options;
    std::vector<vernier::Sample> samples;
    for (int i = 6; i < argc; ++i) {
      const std::string word = argv[i];
      if (word.starts_with("opset=")) {
        options.min_opset = std::stoi(word.substr(6));
      } else if (word.starts_with("sample=")) {
        options.inline_ifs = true;
        samples.push_back(vernier::testing::read_sample(word.substr(7)));
      } else if (const auto format = vernier::parse_format(word)) {
        options.formats.insert(*format);
      } else {
        fmt::print(stderr, "unknown word '{}'\n", word);
        return 2;
      }
    }
    options.samples = samples.size();
    options.sample_at = [&](std::size_t index) { return samples.at(index); };
    const vernier::Model model = vernier::read_model(argv[1]);
    const vernier::Prepared prepared =
        vernier::prepare(model, options, vernier::testing::python_evaluator(argv[4], argv[5], argv[3]));
    // With float32 alone the graph is the user's own, removed operators included.
    if (options.formats != std::set<vernier::Format>{vernier::Format::Float32}) {
      vernier::check_written_model(prepared.model);
    }
    vernier::write_model(prepared.model, argv[2]);
    vernier::Json json;
    json["unchanged"] = prepared.unchanged;
    json["notes"] = vernier::Json::array();
    for (const vernier::PrepareNote& note : prepared.notes) json.at("notes").add(note.step + ": " + note.note.code);
    json["before"] = describe(model);
    json["after"] = describe(prepared.model);
    fmt::print("{}\n", vernier::json_text(json));
    return 0;
  } catch (const vernier::Error& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return static_cast<int>(error.kind());
  }
}
