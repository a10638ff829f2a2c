#include <fmt/format.h>
#include <onnx/checker.h>
#include <onnx/inliner/inliner.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/source_places.h"
#include "base/text.h"
#include "model/graph_edit.h"
#include "model/naming.h"
#include "model/operator_traits.h"
#include "model/passes/pass.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier::passes {
namespace {

using FunctionKey = std::tuple<std::string, std::string, std::string>;
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

template <class List>
auto named(List& list, const std::string& name) {
  return std::ranges::find_if(list, [&](const auto& attribute) { return attribute.name() == name; });
}

/// Gives each call the defaults of its function: ONNX's inliner knows the attributes of the call alone.
///
/// A call may leave out an attribute without default. Then a node inside that refers to it has none either, and takes
/// the default of its own function or operator. Such calls get a copy of the function without these references.
class CallDefaults {
 public:
  explicit CallDefaults(onnx::ModelProto& proto) : proto_(proto) {
    proto.mutable_functions()->Swap(&originals_);
    for (const onnx::FunctionProto& function : originals_) {
      originals_by_key_[{function.domain(), function.name(), function.overload()}] = &function;
    }
  }

  /// Replaces the functions of the model by those that its graph calls, each with complete calls.
  void spell_out() {
    complete_calls(*proto_.mutable_graph()->mutable_node(), {});
    while (!waiting_.empty()) {
      const auto [function, left_out] = std::move(waiting_.back());
      waiting_.pop_back();
      complete_calls(*function->mutable_node(), left_out);
    }
  }

 private:
  using LeftOut = std::set<std::string>;  // attributes of a function

  void complete_calls(Nodes& nodes, const LeftOut& left_out) {
    for_each_node(nodes, [&](onnx::NodeProto& node) {
      auto& given = *node.mutable_attribute();
      const auto gone = std::ranges::remove_if(
          given, [&](const onnx::AttributeProto& one) { return left_out.contains(one.ref_attr_name()); });
      given.erase(gone.begin(), gone.end());
      const auto callee = originals_by_key_.find({node.domain(), node.op_type(), node.overload()});
      if (callee == originals_by_key_.end()) return;
      for (const onnx::AttributeProto& known : callee->second->attribute_proto()) {
        if (named(given, known.name()) == given.end()) *given.Add() = known;
      }
      LeftOut missing;
      for (const std::string& name : callee->second->attribute()) {
        if (named(given, name) == given.end()) missing.insert(name);
      }
      node.set_overload(overload_without(callee->first, missing));
    });
  }

  /// That of the copy of a function whose calls leave out these attributes.
  std::string overload_without(const FunctionKey& key, const LeftOut& left_out) {
    const auto [found, is_new] = overloads_.try_emplace({key, left_out});
    if (!is_new) return found->second;
    FunctionKey unused = key;
    auto& overload = std::get<2>(unused);
    for (std::size_t i = 1; !left_out.empty() && taken(unused); ++i) {
      overload = fmt::format("{}#{}", std::get<2>(key), i);
    }
    copies_.insert(unused);
    onnx::FunctionProto& copy = *proto_.add_functions();
    copy = *originals_by_key_.at(key);
    copy.set_overload(overload);
    waiting_.emplace_back(&copy, left_out);
    return found->second = overload;
  }

  bool taken(const FunctionKey& key) const { return originals_by_key_.contains(key) || copies_.contains(key); }

  onnx::ModelProto& proto_;
  google::protobuf::RepeatedPtrField<onnx::FunctionProto> originals_;
  std::map<FunctionKey, const onnx::FunctionProto*> originals_by_key_;
  std::map<std::pair<FunctionKey, LeftOut>, std::string> overloads_;
  std::set<FunctionKey> copies_;
  std::vector<std::pair<onnx::FunctionProto*, LeftOut>> waiting_;
};

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
    onnx::checker::check_function_call_cycles(model.proto);
    CallDefaults(model.proto).spell_out();
    unite_opsets(model.proto);
    onnx::inliner::InlineLocalFunctions(model.proto, /*convert_version=*/false);
  } catch (const std::exception& failure) {
    throw Error(ErrorCode::InvalidModel, fmt::format("the model's functions cannot be inlined: {}",
                                                     printable(without_source_places(failure.what()))));
  }
  // Nodes out of functions may bear no name, or one name for each call.
  fix_names(model.proto);
  try {
    verify_structure(model, "after inlining the model's functions");
  } catch (const Error& error) {
    throw Error(ErrorCode::InvalidModel, error.what());  // what a function's body holds was not looked at before
  }
  raise_to_highest(model);
  return {.notes = {{"functions-inlined", {{"count", count}}}}};
}

}  // namespace vernier::passes
