#include <fmt/format.h>
#include <onnx/checker.h>
#include <onnx/defs/schema.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/source_places.h"
#include "base/text.h"
#include "model/graph_edit.h"
#include "model/operator_traits.h"
#include "model/passes/onnx_converter.h"
#include "model/passes/pass.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/tensor.h"

namespace vernier::passes {
namespace {

using Types = std::map<std::string, ValueType>;

[[noreturn]] void cannot_raise(const onnx::NodeProto& node, int from, int to, const std::string& why) {
  throw Error(ErrorCode::UnknownOperator,
              fmt::format("node '{}' ({}) cannot be raised from opset {} to {}: {}", printable(node.name()),
                          printable(node.op_type()), from, to, printable(without_source_places(why))));
}

void add_value(google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>& list, const std::string& name,
               const Types& types) {
  onnx::ValueInfoProto& value = *list.Add();
  value.set_name(name);
  auto& tensor = *value.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(onnx::TensorProto::FLOAT);
  const auto type = types.find(name);
  if (type == types.end() || type->second.dtype == Dtype::Undefined) return;
  tensor.set_elem_type(static_cast<int>(type->second.dtype));
  if (!type->second.rank_known) return;
  tensor.mutable_shape();
  for (const std::int64_t dim : type->second.shape) {
    onnx::TensorShapeProto::Dimension& out = *tensor.mutable_shape()->add_dim();
    if (dim >= 0) out.set_dim_value(dim);
  }
}

/// A model of this node alone: what it reads are inputs, but for small initializers, whose values the converter may
/// need.
onnx::ModelProto single(const onnx::NodeProto& node, const Types& types,
                        const std::map<std::string, const onnx::TensorProto*>& values, int from) {
  onnx::ModelProto alone;
  alone.set_ir_version(8);
  onnx::OperatorSetIdProto& opset = *alone.add_opset_import();
  opset.set_domain("");
  opset.set_version(from);
  onnx::GraphProto& graph = *alone.mutable_graph();
  graph.set_name("node");
  *graph.add_node() = node;
  std::set<std::string> seen;
  for (const std::string& name : node.input()) {
    if (name.empty() || !seen.insert(name).second) continue;
    const auto value = values.find(name);
    const bool small = value != values.end() && value->second->data_location() != onnx::TensorProto::EXTERNAL;
    if (small) {
      *graph.add_initializer() = *value->second;
    } else {
      add_value(*graph.mutable_input(), name, types);
    }
  }
  for (const std::string& name : node.output()) {
    if (!name.empty()) add_value(*graph.mutable_output(), name, types);
  }
  return alone;
}

void check(onnx::ModelProto alone, const onnx::NodeProto& node, int from, int to) {
  // The checker wants a shape for each input and output, and does not look at it.
  for (auto* list : {alone.mutable_graph()->mutable_input(), alone.mutable_graph()->mutable_output()}) {
    for (onnx::ValueInfoProto& value : *list) value.mutable_type()->mutable_tensor_type()->mutable_shape();
  }
  try {
    onnx::checker::check_model(alone);
  } catch (const std::exception& failure) {
    cannot_raise(node, from, to, failure.what());
  }
}

/// ONNX's converter takes an attribute for what its schema says, whatever it is.
void check_attributes(const onnx::NodeProto& node, int from, int to) {
  const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(node.op_type(), from, "");
  if (schema == nullptr) return;
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    const auto known = schema->attributes().find(attribute.name());
    if (known == schema->attributes().end() || known->second.type == attribute.type()) continue;
    cannot_raise(node, from, to,
                 fmt::format("its attribute '{}' is of another type than the operator's", printable(attribute.name())));
  }
}

/// What ONNX's converter leaves out, by operator. Found by running both sides (tests/diff/test_raise_opset.py).
void complete(onnx::NodeProto& node, const onnx::NodeProto& old, const onnx::ModelProto& before, int from, int to) {
  if (node.op_type() == "Resize" && from < 11 && to >= 11) {
    // Until opset 10 output pixel i lay on input pixel i / scale; the default since is half_pixel.
    set_attribute(node, "coordinate_transformation_mode", std::string("asymmetric"));
    const onnx::AttributeProto* mode = find_attribute(node, "mode");
    if (mode == nullptr || mode->s() == "nearest") {
      // ONNX Runtime takes the pixel before when it enlarges and the one behind when it shrinks.
      bool shrinks = false;
      for (const onnx::TensorProto& tensor : before.graph().initializer()) {
        if (old.input_size() < 2 || tensor.name() != old.input(1)) continue;
        const Tensor scales = tensor_of(tensor);
        shrinks = std::any_of(scales.floats().begin(), scales.floats().end(), [](float s) { return s < 1.0F; });
      }
      set_attribute(node, "nearest_mode", std::string(shrinks ? "ceil" : "floor"));
    }
  }
}

/// The number of channels of a GroupNormalization's data.
std::int64_t channels_of(const onnx::NodeProto& node, const Types& types, int from, int to) {
  const auto type = types.find(node.input(0));
  const bool known = type != types.end() && type->second.rank_known && type->second.shape.size() > 1;
  const std::int64_t channels = known ? type->second.shape[1] : -1;
  if (channels < 0) {
    cannot_raise(node, from, to, "the number of its channels is unknown, and opset 21 wants one scale for each");
  }
  const std::int64_t groups = attribute_int(node, "num_groups", 0);
  if (groups < 1 || channels % groups != 0) {
    cannot_raise(node, from, to, fmt::format("{} channels cannot be cut into {} groups", channels, groups));
  }
  return channels;
}

Tensor picked(const Tensor& values, const std::vector<std::int64_t>& indices) {
  Tensor out(values.dtype(), {static_cast<std::int64_t>(indices.size())});
  const std::size_t size = values.bytes().size() / static_cast<std::size_t>(values.count());
  for (std::size_t i = 0; i < indices.size(); ++i) {
    std::ranges::copy(values.bytes().subspan(static_cast<std::size_t>(indices[i]) * size, size),
                      out.mutable_bytes().subspan(i * size).begin());
  }
  return out;
}

/// Until opset 20, GroupNormalization read a scale and a bias for each group; since then it reads them for each
/// channel. The converter changes the number of the opset alone.
std::vector<onnx::NodeProto> repeat_for_channels(Model& model, onnx::GraphProto& graph, onnx::NodeProto node,
                                                 const Types& types,
                                                 const std::map<std::string, const onnx::TensorProto*>& values,
                                                 int from, int to) {
  const std::int64_t channels = channels_of(node, types, from, to);
  const std::int64_t groups = attribute_int(node, "num_groups", 0);
  std::vector<std::int64_t> group_of_channel;
  for (std::int64_t c = 0; c < channels; ++c) group_of_channel.push_back(c / (channels / groups));

  NamePool names(model);
  std::vector<onnx::NodeProto> made;
  for (const int i : {1, 2}) {
    const std::string name = names.unique(fmt::format("{}.{}", node.name(), i == 1 ? "scale" : "bias"));
    const auto value = values.find(node.input(i));
    if (value != values.end() && value->second->data_location() != onnx::TensorProto::EXTERNAL) {
      const Tensor constant = tensor_of(*value->second);
      if (constant.count() != groups) {
        cannot_raise(
            node, from, to,
            fmt::format("'{}' has {} values for {} groups", printable(node.input(i)), constant.count(), groups));
      }
      add_initializer(model, graph, name, picked(constant, group_of_channel));
    } else {
      onnx::NodeProto& gather = made.emplace_back();
      gather.set_op_type("Gather");
      gather.set_name(names.unique(fmt::format("{}/Gather", node.name())));
      gather.add_input(node.input(i));
      gather.add_input(names.unique(fmt::format("{}.groups", node.name())));
      add_initializer(model, graph, gather.input(1), Tensor::of_int64({channels}, group_of_channel));
      gather.add_output(name);
    }
    node.set_input(i, name);
  }
  // Before, the statistics had the type of the data; the default since is float32.
  const Dtype dtype = types.at(node.input(0)).dtype;
  if (dtype == Dtype::Float16 || dtype == Dtype::BFloat16)
    set_attribute(node, "stash_type", static_cast<std::int64_t>(dtype));
  made.push_back(std::move(node));
  return made;
}

/// Hardmax took its axis for the start of the flattened rest until opset 12; the converter passes it through.
void refuse_unsound(const onnx::NodeProto& node, const Types& types, int from, int to) {
  if (node.op_type() != "Hardmax" || from >= 13 || to < 13) return;
  const auto type = types.find(node.input(0));
  const std::int64_t axis = attribute_int(node, "axis", 1);
  const bool last = axis == -1 || (type != types.end() && type->second.rank_known &&
                                   axis == static_cast<std::int64_t>(type->second.shape.size()) - 1);
  if (!last) cannot_raise(node, from, to, "its axis is not the last one, and its meaning changed in opset 13");
}

onnx::GraphProto convert(const OnnxConverter& converter, const onnx::ModelProto& alone, const onnx::NodeProto& node,
                         int from, int to) {
  try {
    onnx::ModelProto raised = converter.convert(alone, from, to);
    raised.set_ir_version(ir_version_of_opset(to));
    check(raised, node, from, to);
    return raised.graph();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& failure) {
    // No adapter: the operator was experimental before, or the converter was never told. Unchanged, it is either what
    // the new schema describes, attributes and inputs included, or refused.
    if (std::string(failure.what()).find("No Adapter") == std::string::npos) {
      cannot_raise(node, from, to, failure.what());
    }
    onnx::ModelProto same = alone;
    same.mutable_opset_import(0)->set_version(to);
    same.set_ir_version(ir_version_of_opset(to));
    check(same, node, from, to);
    return same.graph();
  }
}

std::string parameter_name(const onnx::NodeProto& reader, int index, int opset) {
  const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(reader.op_type(), opset, "");
  if (schema == nullptr || index >= static_cast<int>(schema->inputs().size())) return fmt::format("input{}", index);
  return schema->inputs()[static_cast<std::size_t>(index)].GetName();
}

/// Puts the converted nodes in the place of the old one, with names of their own; new constants become initializers.
std::vector<onnx::NodeProto> adopt_nodes(Model& model, onnx::GraphProto& graph, const onnx::NodeProto& old,
                                         onnx::GraphProto made, int to) {
  NamePool names(model);
  std::set<std::string> known(old.input().begin(), old.input().end());
  known.insert(old.output().begin(), old.output().end());

  std::map<std::string, Tensor> constants;
  for (const onnx::TensorProto& tensor : made.initializer()) {
    if (!known.contains(tensor.name())) constants[tensor.name()] = tensor_of(tensor);
  }
  for (const onnx::NodeProto& node : made.node()) {
    if (node.op_type() == "Constant" && !known.contains(node.output(0))) {
      constants[node.output(0)] = tensor_of(find_attribute(node, "value")->t());
    }
  }
  remove_nodes(made, [&](const onnx::NodeProto& node) {
    return node.op_type() == "Constant" && constants.contains(node.output(0));
  });

  std::map<std::string, std::string> renamed;
  for (onnx::NodeProto& node : *made.mutable_node()) {
    for (int i = 0; i < node.input_size(); ++i) {
      const std::string name = node.input(i);
      if (name.empty() || known.contains(name)) continue;
      if (constants.contains(name) && !renamed.contains(name)) {
        renamed[name] = names.unique(fmt::format("{}.{}", old.name(), parameter_name(node, i, to)));
        add_initializer(model, graph, renamed[name], constants[name]);
      }
      node.set_input(i, renamed.at(name));
    }
    for (std::string& name : *node.mutable_output()) {
      if (name.empty() || known.contains(name)) continue;
      renamed[name] = names.unique(fmt::format("{}/{}_output", old.name(), node.op_type()));
      name = renamed[name];
    }
  }
  // The name stays with the node that still does the work: the same operator, or the one that makes the output.
  auto& nodes = *made.mutable_node();
  auto heir = std::find_if(nodes.begin(), nodes.end(),
                           [&](const onnx::NodeProto& node) { return node.op_type() == old.op_type(); });
  if (heir == nodes.end()) {
    heir = std::find_if(nodes.begin(), nodes.end(), [&](const onnx::NodeProto& node) {
      return node.output_size() > 0 && node.output(0) == old.output(0);
    });
  }
  for (auto node = nodes.begin(); node != nodes.end(); ++node) {
    node->set_name(node == heir ? old.name() : names.unique(fmt::format("{}/{}", old.name(), node->op_type())));
  }
  return {nodes.begin(), nodes.end()};
}

bool means_the_same(const onnx::NodeProto& node, int from, int to) {
  if (!of_onnx(node)) return true;
  const onnx::OpSchema* before = onnx::OpSchemaRegistry::Schema(node.op_type(), from, "");
  const onnx::OpSchema* after = onnx::OpSchemaRegistry::Schema(node.op_type(), to, "");
  return before != nullptr && after != nullptr && before->SinceVersion() == after->SinceVersion();
}

}  // namespace

int raise_nodes(Model& model, const std::function<int(const onnx::NodeProto&)>& opset_of, int to) {
  const Types types = infer_types(model);
  const OnnxConverter converter;
  const Model original = model;  // the values that single() looks up must outlive the edits
  std::map<std::string, const onnx::TensorProto*> values;
  for_each_graph(original.proto.graph(), [&](const onnx::GraphProto& graph) {
    for (const onnx::TensorProto& tensor : graph.initializer()) values[tensor.name()] = &tensor;
  });

  int converted = 0;
  for_each_graph(*model.proto.mutable_graph(), [&](onnx::GraphProto& graph) {
    for (int i = 0; i < graph.node_size(); ++i) {
      const onnx::NodeProto node = graph.node(i);
      const int from = opset_of(node);
      if (means_the_same(node, from, to)) continue;
      if (has_body(node)) {
        // If, Loop and Scan changed their types only, but for Scan, which had a batch axis until opset 8.
        if (node.op_type() == "Scan" && from < 9) cannot_raise(node, from, to, "Scan of opset 8 had a batch axis");
        continue;  // the nodes inside are visited as those of any graph
      }
      check_attributes(node, from, to);
      refuse_unsound(node, types, from, to);
      const onnx::ModelProto alone = single(node, types, values, from);
      std::vector<onnx::NodeProto> made =
          adopt_nodes(model, graph, node, convert(converter, alone, node, from, to), to);
      for (onnx::NodeProto& fresh : made) complete(fresh, node, alone, from, to);
      if (node.op_type() == "GroupNormalization" && from < 21 && to >= 21) {
        made = repeat_for_channels(model, graph, made.front(), types, values, from, to);
      }
      const int count = static_cast<int>(made.size());
      replace_node(graph, i, std::move(made));
      i += count - 1;
      ++converted;
    }
  });
  for (onnx::OperatorSetIdProto& opset : *model.proto.mutable_opset_import()) {
    if (is_onnx_domain(opset.domain())) opset.set_version(to);
  }
  model.proto.set_ir_version(std::max<std::int64_t>(model.proto.ir_version(), ir_version_of_opset(to)));
  remove_leftovers(model);
  return converted;
}

Outcome raise_opset(Model& model, const Context& context) {
  const int from = default_opset(model.proto);
  const int to = context.target_opset;
  if (to <= from) return {};
  const int converted = raise_nodes(
      model, [from](const onnx::NodeProto&) { return from; }, to);
  return {.notes = {{"opset-raised", {{"from", from}, {"to", to}, {"converted", converted}}}},
          .changed_arithmetic = true};
}

}  // namespace vernier::passes
