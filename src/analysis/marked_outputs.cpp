#include "analysis/marked_outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "plan/round_node.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/samples.h"

namespace vernier {
namespace {

struct Tensors {
  std::vector<std::string> names;  // in graph order
  std::map<std::string, std::string> op_types;
  std::set<std::string> ours;  // made by an operator of our own, which ONNX does not know: they give float32
};

Tensors tensors_of(const onnx::GraphProto& graph) {
  Tensors tensors;
  for (const onnx::NodeProto& node : graph.node()) {
    if (node.op_type() == "Constant") continue;
    for (const std::string& output : node.output()) {
      if (output.empty()) continue;
      tensors.names.push_back(output);
      tensors.op_types[output] = node.op_type();
      if (node.domain() == kDomain) tensors.ours.insert(output);
    }
  }
  return tensors;
}

/// The tensors that `pattern` matches. A name that is there is meant as it is, though it may look like a pattern.
std::set<std::string> matches(const std::string& pattern, const std::vector<std::string>& names) {
  if (std::find(names.begin(), names.end(), pattern) != names.end()) return {pattern};
  std::set<std::string> found;
  for (const std::string& name : names) {
    if (wildcard_match(pattern, name)) found.insert(name);
  }
  if (!found.empty()) return found;
  const std::vector<std::string> near = nearest_names(pattern, names);
  throw Error(
      ErrorCode::UnknownName, fmt::format("no tensor of the model is called '{}'", printable(pattern)),
      near.empty() ? "list them with: ‹vernier inspect model MODEL --show layers›" : "nearest: " + list_some(near));
}

std::set<std::string> of_type(const std::string& op_type, const Tensors& tensors) {
  std::set<std::string> found, types;
  for (const auto& [name, type] : tensors.op_types) {
    types.insert(type);
    if (lower_case(type) == lower_case(op_type)) found.insert(name);
  }
  if (!found.empty()) return found;
  const std::vector<std::string> known(types.begin(), types.end());
  const std::vector<std::string> near = nearest_names(op_type, known);
  throw Error(ErrorCode::UnknownName, fmt::format("no node of the model is of type '{}'", printable(op_type)),
              near.empty() ? "the model has: " + list_some(known, 12) : "nearest: " + list_some(near));
}

}  // namespace

bool means_all(const std::vector<std::string>& names) {
  return (names.size() == 1 && names[0] == "*") || (names.size() == 2 && names[0] == "mark" && names[1] == "all");
}

std::vector<std::pair<std::string, Dtype>> choose_outputs(const Model& model, const OutputChoice& choice,
                                                          std::vector<std::string>& left_out) {
  const Tensors tensors = tensors_of(model.proto.graph());
  std::vector<std::string> own;
  std::vector<std::string> candidates = tensors.names;
  for (const onnx::ValueInfoProto& output : model.proto.graph().output()) {
    own.push_back(output.name());
    // A graph output may be an input or an initializer passed on.
    if (!tensors.op_types.contains(output.name())) candidates.push_back(output.name());
  }
  const bool all = means_all(choice.names);
  std::set<std::string> chosen;
  if (all) {
    chosen.insert(candidates.begin(), candidates.end());
  } else if (choice.names.empty() && choice.op_types.empty()) {
    chosen.insert(own.begin(), own.end());
  }
  const std::vector<std::string> inputs = input_names(model);
  if (!all) {
    for (const std::string& pattern : choice.names) {
      // "*" and its kin mean what the network computes: an input has to be named.
      const bool named = std::ranges::find(inputs, pattern) != inputs.end();
      if (named && std::ranges::find(candidates, pattern) == candidates.end()) candidates.push_back(pattern);
      chosen.merge(matches(pattern, candidates));
    }
  }
  for (const std::string& op_type : choice.op_types) chosen.merge(of_type(op_type, tensors));
  for (const std::string& pattern : choice.excluded) {
    for (const std::string& name : matches(pattern, candidates)) chosen.erase(name);
  }

  const std::map<std::string, ValueType> types = infer_types(model);
  std::map<std::string, Dtype> declared;
  for (const InputInfo& input : model_inputs(model)) declared[input.name] = input.dtype;
  for (const InputInfo& output : model_outputs(model)) declared[output.name] = output.dtype;
  std::vector<std::pair<std::string, Dtype>> outputs;
  for (const std::string& name : candidates) {
    if (!chosen.contains(name)) continue;
    Dtype dtype = Dtype::Undefined;
    if (const auto known = declared.find(name); known != declared.end()) {
      dtype = known->second;
    } else if (tensors.ours.contains(name)) {
      dtype = Dtype::Float32;
    } else if (const auto inferred = types.find(name); inferred != types.end()) {
      dtype = inferred->second.dtype;
    }
    if (dtype == Dtype::Undefined) {
      left_out.push_back(name);
    } else {
      outputs.emplace_back(name, dtype);
    }
  }
  if (outputs.empty()) {
    throw Error(ErrorCode::UnknownName, "no output is left of those chosen",
                left_out.empty() ? "exclude fewer of them" : "of unknown type: " + list_some(left_out));
  }
  return outputs;
}

}  // namespace vernier
