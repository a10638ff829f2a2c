#include <fmt/format.h>
#include <onnx/inliner/inliner.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "base/source_places.h"
#include "base/text.h"
#include "model/graph_edit.h"
#include "model/naming.h"
#include "model/operator_traits.h"
#include "model/passes/pass.h"
#include "vernier/error.h"

namespace vernier::passes {
namespace {

using FunctionKey = std::tuple<std::string, std::string, std::string>;
using Functions = std::map<FunctionKey, onnx::FunctionProto*>;
using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

constexpr const char* kOpsetOfFunction = "vernier.opset";

void for_each_node(Nodes& nodes, const std::function<void(onnx::NodeProto&)>& visit) {
  for (onnx::NodeProto& node : nodes) {
    visit(node);
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) for_each_node(*attribute.mutable_g()->mutable_node(), visit);
      for (onnx::GraphProto& body : *attribute.mutable_graphs()) for_each_node(*body.mutable_node(), visit);
    }
  }
}

Functions functions_of(onnx::ModelProto& proto) {
  Functions functions;
  for (onnx::FunctionProto& function : *proto.mutable_functions()) {
    functions[{function.domain(), function.name(), function.overload()}] = &function;
  }
  return functions;
}

template <class List>
auto named(List& list, const std::string& name) {
  return std::ranges::find_if(list, [&](const auto& attribute) { return attribute.name() == name; });
}

/// A call that hands on an attribute of `caller`, which has no default for it: then the callee's is the one. Returns
/// whether it got one.
bool pass_on_default(onnx::FunctionProto& caller, const std::string& name, onnx::AttributeProto value) {
  auto& without_default = *caller.mutable_attribute();
  const auto found = std::ranges::find(without_default, name);
  if (found == without_default.end()) return false;
  without_default.erase(found);
  value.set_name(name);
  *caller.add_attribute_proto() = std::move(value);
  return true;
}

/// ONNX's inliner knows the attributes of a call alone.
void spell_out_defaults(onnx::ModelProto& proto) {
  const Functions functions = functions_of(proto);
  const auto callee_of = [&](const onnx::NodeProto& node) {
    const auto callee = functions.find({node.domain(), node.op_type(), node.overload()});
    return callee == functions.end() ? nullptr : callee->second;
  };
  for (bool passed = true; passed;) {
    passed = false;
    for (onnx::FunctionProto& caller : *proto.mutable_functions()) {
      for_each_node(*caller.mutable_node(), [&](onnx::NodeProto& node) {
        const onnx::FunctionProto* const callee = callee_of(node);
        for (const onnx::AttributeProto& given : node.attribute()) {
          if (callee == nullptr || given.ref_attr_name().empty()) continue;
          const auto known = named(callee->attribute_proto(), given.name());
          if (known == callee->attribute_proto().end()) continue;
          passed = pass_on_default(caller, given.ref_attr_name(), *known) || passed;
        }
      });
    }
  }
  const auto complete = [&](onnx::NodeProto& node) {
    const onnx::FunctionProto* const callee = callee_of(node);
    if (callee == nullptr) return;
    for (const onnx::AttributeProto& known : callee->attribute_proto()) {
      if (named(node.attribute(), known.name()) == node.attribute().end()) *node.add_attribute() = known;
    }
  };
  for_each_node(*proto.mutable_graph()->mutable_node(), complete);
  for (onnx::FunctionProto& function : *proto.mutable_functions()) for_each_node(*function.mutable_node(), complete);
}

int opset_of(const onnx::FunctionProto& function) {
  for (const onnx::OperatorSetIdProto& import : function.opset_import()) {
    if (is_onnx_domain(import.domain())) return static_cast<int>(import.version());
  }
  return 0;
}

void forget_opsets(Nodes& nodes) {
  for_each_node(nodes, [](onnx::NodeProto& node) {
    auto& properties = *node.mutable_metadata_props();
    const auto gone = std::ranges::remove(properties, kOpsetOfFunction, &onnx::StringStringEntryProto::key);
    properties.erase(gone.begin(), gone.end());
  });
}

/// All functions under the model's imports, so that the inliner converts nothing and leaves none out; nodes of another
/// opset bear its number.
void unite_opsets(onnx::ModelProto& proto) {
  std::set<std::string> domains;
  int highest = 0;
  for (const onnx::FunctionProto& function : proto.functions()) {
    domains.insert(function.domain());
    highest = std::max(highest, opset_of(function));
  }
  if (default_opset(proto) == 0 && highest > 0) set_opset(proto, "", highest);
  const int own = default_opset(proto);
  forget_opsets(*proto.mutable_graph()->mutable_node());
  for (onnx::FunctionProto& function : *proto.mutable_functions()) {
    forget_opsets(*function.mutable_node());
    const int opset = opset_of(function);
    for (onnx::OperatorSetIdProto& import : *function.mutable_opset_import()) {
      if (is_onnx_domain(import.domain())) import.set_version(own);
      if (!domains.contains(import.domain())) continue;
      for (const onnx::OperatorSetIdProto& models : proto.opset_import()) {
        if (models.domain() == import.domain()) import.set_version(models.version());
      }
    }
    if (opset == 0 || opset == own) continue;
    for_each_node(*function.mutable_node(), [&](onnx::NodeProto& node) {
      onnx::StringStringEntryProto& entry = *node.add_metadata_props();
      entry.set_key(kOpsetOfFunction);
      entry.set_value(std::to_string(opset));
    });
  }
}

/// 0: that of the model.
int borne_opset(const onnx::NodeProto& node) {
  for (const onnx::StringStringEntryProto& entry : node.metadata_props()) {
    if (entry.key() == kOpsetOfFunction) return std::stoi(entry.value());
  }
  return 0;
}

/// Nodes that bear an opset, and all others, to the highest of all.
void raise_to_highest(Model& model) {
  Nodes& nodes = *model.proto.mutable_graph()->mutable_node();
  const int own = default_opset(model.proto);
  int highest = own;
  bool differs = false;
  for_each_node(nodes, [&](const onnx::NodeProto& node) {
    differs = differs || borne_opset(node) > 0;
    highest = std::max(highest, borne_opset(node));
  });
  if (!differs) return;
  const auto opset_of_node = [own](const onnx::NodeProto& node) {
    const int borne = borne_opset(node);
    return borne > 0 ? borne : own;
  };
  raise_nodes(model, opset_of_node, highest);
  forget_opsets(nodes);
}

}  // namespace

Outcome inline_functions(Model& model, const Context&) {
  if (model.proto.functions_size() == 0) return {};
  const int count = model.proto.functions_size();
  try {
    spell_out_defaults(model.proto);
    unite_opsets(model.proto);
    onnx::inliner::InlineLocalFunctions(model.proto, /*convert_version=*/false);
  } catch (const std::exception& failure) {
    throw Error(ErrorKind::Input, fmt::format("the model's functions cannot be inlined: {}",
                                              printable(without_source_places(failure.what()))));
  }
  // Nodes out of functions may bear no name, or one name for each call.
  fix_names(model.proto);
  try {
    verify_structure(model, "after inlining the model's functions");
  } catch (const Error& error) {
    throw Error(ErrorKind::Input, error.what());  // what a function's body holds was not looked at before
  }
  raise_to_highest(model);
  return {.notes = {{"functions-inlined", {{"count", count}}}}};
}

}  // namespace vernier::passes
