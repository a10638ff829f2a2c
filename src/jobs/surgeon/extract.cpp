// `vernier surgeon extract`: the part of a graph between tensors, with the values it has on real samples.

#include "jobs/surgeon/extract.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "analysis/tensor_values.h"
#include "base/text.h"
#include "engines/onnxruntime/runtime.h"
#include "jobs/common/model_file.h"
#include "jobs/common/part_data.h"
#include "jobs/common/sources.h"
#include "jobs/common/static_types.h"
#include "model/subgraph.h"
#include "model/type_protos.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/samples.h"
#include "vernier/sinks.h"
#include "vernier/surgeon.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

std::vector<std::string> names_or(const std::vector<TensorChoice>& choices, const std::vector<std::string>& own) {
  if (choices.empty()) return own;
  std::vector<std::string> names;
  for (const TensorChoice& choice : choices) names.push_back(choice.name);
  return names;
}

void refuse_unknown(const Model& model, const std::vector<TensorChoice>& choices, const char* option) {
  std::vector<std::string> known = input_names(model);
  for (const onnx::NodeProto& node : model.proto.graph().node()) {
    for (const std::string& output : node.output()) {
      if (!output.empty()) known.push_back(output);
    }
  }
  for (const TensorChoice& choice : choices) {
    if (std::find(known.begin(), known.end(), choice.name) != known.end()) continue;
    std::vector<std::string> near = nearest_names(choice.name, known, 2);
    // "Relu:1" alone reads as a tensor Relu of shape [1].
    const auto cut = std::find_if(known.begin(), known.end(),
                                  [&](const std::string& name) { return name.starts_with(choice.name + ":"); });
    if (cut != known.end()) near = {*cut};
    for (std::string& name : near) {
      if (name.find(':') != std::string::npos) name += ":auto:auto";
    }
    throw Error(ErrorCode::UnknownName,
                fmt::format("{}: the main graph has no tensor '{}'", option, printable(choice.name)),
                near.empty() ? "‹vernier inspect model MODEL --show layers› lists them"
                             : "did you mean " + list_some(near) + "?");
  }
}

/// What was said of a tensor becomes its type; a type that the model does not have is refused.
void describe(std::map<std::string, onnx::TypeProto>& types, const std::vector<TensorChoice>& choices,
              const char* option) {
  for (const TensorChoice& choice : choices) {
    const bool known = types.contains(choice.name) && types.at(choice.name).has_tensor_type();
    if (!known && !choice.dtype) continue;
    auto& type = *types[choice.name].mutable_tensor_type();
    if (known && choice.dtype && static_cast<int>(*choice.dtype) != type.elem_type()) {
      throw Error(ErrorCode::BadValue,
                  fmt::format("{}: tensor '{}' is {} in the model, not {}", option, printable(choice.name),
                              dtype_name(static_cast<Dtype>(type.elem_type())), dtype_name(*choice.dtype)),
                  "auto takes what the model says");
    }
    if (choice.dtype) type.set_elem_type(static_cast<int>(*choice.dtype));
    if (!choice.shape) continue;
    if (type.has_shape() && type.shape().dim_size() != static_cast<int>(choice.shape->sizes.size())) {
      throw Error(ErrorCode::BadValue,
                  fmt::format("{}: tensor '{}' has {} dimensions, the shape given has {}", option,
                              printable(choice.name), type.shape().dim_size(), choice.shape->sizes.size()));
    }
    set_shape(type, *choice.shape);
  }
}

/// How many of these the file says no type of, and inference does.
std::size_t inferred(const Model& model, const std::map<std::string, onnx::TypeProto>& types,
                     const std::vector<std::string>& names) {
  std::set<std::string> declared;
  const auto learn = [&](const auto& values) {
    for (const onnx::ValueInfoProto& value : values) declared.insert(value.name());
  };
  learn(model.proto.graph().input());
  learn(model.proto.graph().output());
  learn(model.proto.graph().value_info());
  return static_cast<std::size_t>(std::ranges::count_if(
      names, [&](const std::string& name) { return types.contains(name) && !declared.contains(name); }));
}

/// Inputs and outputs of the part on each sample, in files beside it.
void write_data(const Model& whole, const Model& part, const ExtractOptions& options, const SampleSource& samples,
                const std::shared_ptr<const Runtime>& runtime, SurgeonResult& result) {
  if (samples.is_random()) {
    result.warnings.push_back({"random-part-inputs", {}});
  }
  std::vector<std::string> names = input_names(part);
  for (std::string& name : output_names(part)) names.push_back(std::move(name));
  TensorValues values(runtime, whole, samples);
  const std::vector<Sample> all = values.of(names, samples.size());
  const PartData files = write_part_data(options.output, part, all, "whole-model");
  result.samples = PartSamples{files.inputs, files.outputs, all.size()};
}

/// An initializer that is listed as an input of the part becomes an input of the model.
void make_inputs_of_constants(Model& model, const ExtractOptions& options) {
  onnx::GraphProto& graph = *model.proto.mutable_graph();
  for (const TensorChoice& choice : options.inputs) {
    auto& constants = *graph.mutable_initializer();
    const auto found = std::ranges::find(constants, choice.name, &onnx::TensorProto::name);
    if (found == constants.end()) continue;
    if (options.with_data) {
      throw Error(ErrorCode::BadValue,
                  fmt::format("‹inputs›: '{}' is an initializer, so samples of the model do not hold it",
                              printable(choice.name)),
                  "leave out ‹with-data›, or this input");
    }
    add_input(graph, *found);
    constants.erase(found);
    model.weights.erase(choice.name);
  }
}

}  // namespace

SurgeonResult extract_model(const ExtractOptions& options, const JobSinks& sinks) {
  if (options.with_data && options.output.empty()) {
    throw Error(ErrorCode::BadValue, "the samples of a part are written to its folder, and the part is not written");
  }
  MissingWeights missing;
  Model model = missing.read(options.model, options.external_data_dir);
  if (missing.any() && options.with_data) {
    throw Error(ErrorCode::BadValue, fmt::format("‹with-data›: {} has no weights to run with", options.model.name()),
                "‹vernier surgeon weight-reconstruct› makes some up");
  }
  override_input_shapes(model, options.input_shapes, "‹model-input-shapes›");
  if (options.fix_open_sizes) fix_open_sizes(model);
  make_inputs_of_constants(model, options);
  return extract_part(model, options, sinks, missing);
}

SurgeonResult extract_part(const Model& model, const ExtractOptions& options, const JobSinks& sinks,
                           const MissingWeights& missing) {
  refuse_unknown(model, options.inputs, "‹inputs›");
  refuse_unknown(model, options.outputs, "‹outputs›");
  MeasureOptions measure = options.with_data.value_or(MeasureOptions());
  measure.custom_operators = options.custom_operators;
  Sources sources(measure, sinks);
  std::map<std::string, onnx::TypeProto> types = static_types(model, [&] { return sources.runtime(); });
  describe(types, options.inputs, "‹inputs›");
  describe(types, options.outputs, "‹outputs›");

  std::vector<std::string> inputs = names_or(options.inputs, input_names(model));
  const std::vector<std::string> weights = missing.names();
  inputs.insert(inputs.end(), weights.begin(), weights.end());
  const std::vector<std::string> outputs = names_or(options.outputs, output_names(model));
  const std::vector<int> nodes = nodes_between(model, {inputs.begin(), inputs.end()}, {outputs.begin(), outputs.end()});
  if (nodes.empty()) {
    throw Error(ErrorCode::BadValue, "no node lies between these inputs and outputs",
                "‹vernier inspect model MODEL --show layers› lists them");
  }
  for (const std::string& name : boundary(model, nodes)) {
    if (std::find(inputs.begin(), inputs.end(), name) != inputs.end()) continue;
    throw Error(ErrorCode::BadValue,
                fmt::format("‹inputs›: the outputs also need '{}', which is not among them", printable(name)),
                fmt::format("add {}:auto:auto", printable(name)));
  }
  std::vector<std::string> ends = boundary(model, nodes);
  ends.insert(ends.end(), outputs.begin(), outputs.end());
  if (const std::size_t count = inferred(model, types, ends); count > 0 && !options.fix_open_sizes && sinks.info) {
    sinks.info(
        fmt::format("Shape inference completed successfully: types of {} come from it", plural(count, "tensor")));
  }
  if (std::any_of(ends.begin(), ends.end(), [&](const std::string& name) { return !types.contains(name); })) {
    TensorValues(sources.runtime(), model, *sources.samples(model)).learn_types(ends, types);
  }
  // What was given of an input of the model itself counts, too.
  Model described = model;
  for (onnx::ValueInfoProto& input : *described.proto.mutable_graph()->mutable_input()) {
    *input.mutable_type() = types.at(input.name());
  }
  Model part = piece_of(described, nodes, outputs, types);
  SurgeonResult result;
  result.output = options.output;
  result.nodes_before = static_cast<std::size_t>(model.proto.graph().node_size());
  result.nodes_after = nodes.size();
  std::set<std::string> used;
  for (const InputInfo& input : model_inputs(part)) used.insert(input.name);
  for (const std::string& name : inputs) {
    const bool is_weight = std::find(weights.begin(), weights.end(), name) != weights.end();
    if (!options.inputs.empty() && !used.contains(name) && !is_weight) {
      result.warnings.push_back({"input-left-out", {{"input", name}}});
    }
  }
  missing.put_back(part);
  result.model = given_model(part, options.output, options.external_data);
  if (options.with_data) write_data(model, part, options, *sources.samples(model), sources.runtime(), result);
  for (const Note& note : result.warnings) sinks.warn(note);
  return result;
}

}  // namespace vernier
